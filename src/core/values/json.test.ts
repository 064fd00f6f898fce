import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../json/canonical-json.ts";
import { isJsonObject, type Json, sameJson } from "./json.ts";

describe("an object", () => {
  it.each([{}, { a: 1 }])("is %j", (value) => {
    expect(isJsonObject(value)).toBe(true);
  });

  it.each([null, [], 0, "", false, undefined])("is not %j", (value) => {
    expect(isJsonObject(value)).toBe(false);
  });
});

describe("the same JSON", () => {
  it.each([
    [
      { a: 1, b: [2, { c: null }] },
      { b: [2, { c: null }], a: 1 },
    ],
    [[], []],
    [undefined, undefined],
  ])("is %j and %j", (left, right) => {
    expect(sameJson(left as Json, right as Json)).toBe(true);
  });

  it.each([
    [1, "1"],
    [null, {}],
    [{}, null],
    [{}, []],
    [[], {}],
    [{ a: 1 }, { a: 1, b: 1 }],
    [{ a: 1 }, { b: 1 }],
    [{ toString: 1 }, { a: 1 }],
    [{ a: 1 }, { toString: 1 }],
    [[1], [1, 2]],
    [[1], [2]],
    [{}, undefined],
    [1, {}],
    [{}, 1],
  ])("is not %j and %j", (left, right) => {
    expect(sameJson(left as Json, right as Json)).toBe(false);
  });

  it("compares own members and ignores inherited ones", () => {
    const objectWith = (own: object, inherited: object): Json =>
      Object.assign(Object.create(Object.assign(Object.create(null), inherited)), own);
    expect(sameJson(objectWith({ a: 1 }, { b: 2 }), { a: 1 })).toBe(true);
    expect(sameJson({ a: 1 }, objectWith({ a: 1 }, { b: 2 }))).toBe(true);
    expect(sameJson({ a: 1, b: 2 }, objectWith({ a: 1 }, { b: 2 }))).toBe(false);
    expect(sameJson(objectWith({ a: 1 }, { b: 2 }), { a: 1, b: 2 })).toBe(false);
  });

  it("has the same canonical text", () => {
    const anything = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>;
    fc.assert(
      fc.property(anything, anything, (left, right) => {
        expect(sameJson(left, right)).toBe(canonicalJson(left) === canonicalJson(right));
        expect(sameJson(left, JSON.parse(JSON.stringify(left)))).toBe(true);
      }),
    );
  });
});
