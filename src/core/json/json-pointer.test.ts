import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../values/json.ts";
import { parsePointer, pointersOverlap, pointerTo, valueAt, withValueAt, withValuesAt } from "./json-pointer.ts";

const rfc = { foo: ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "m~n": 8, " ": 7, "~1": 9 };

describe("a JSON pointer", () => {
  it.each([
    ["", rfc],
    ["/foo", ["bar", "baz"]],
    ["/foo/0", "bar"],
    ["/", 0],
    ["/a~1b", 1],
    ["/c%d", 2],
    ["/e^f", 3],
    ["/m~0n", 8],
    ["/ ", 7],
    ["/~01", 9],
  ] as [string, Json][])("%j names the value that RFC 6901 gives", (pointer, value) => {
    expect(valueAt(rfc, pointer)).toEqual(value);
  });

  it.each([
    "/foo/2",
    "/foo/-",
    "/foo/01",
    "/foo/-0",
    "/foo/length",
    "/foo/0/0",
    "/toString",
    "/__proto__",
    "/constructor/name",
    "/none/at/all",
  ])("%s names nothing", (pointer) => {
    expect(valueAt(rfc, pointer)).toBeUndefined();
  });

  it.each(["foo", "/~", "/~2", "#/foo"])("%s is not a pointer", (text) => {
    expect(parsePointer(text)).toBeNull();
    expect(() => valueAt(rfc, text)).toThrow("is a JSON pointer");
  });

  it("reads back the keys it was made of", () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (keys) => {
        expect(parsePointer(keys.reduce(pointerTo, ""))).toEqual(keys);
      }),
    );
  });

  it.each([
    ["/a", "/a", true],
    ["/a", "/a/b", true],
    ["/a/b", "/a", true],
    ["", "/a", true],
    ["/a", "/ab", false],
    ["/a/b", "/a/c", false],
  ])("%j and %j overlap: %s", (left, right, answer) => {
    expect(pointersOverlap(left, right)).toBe(answer);
  });
});

describe("putting a value at a pointer", () => {
  it.each([
    [{}, "/a", { a: 1 }],
    [{ a: 0, b: 2 }, "/a", { a: 1, b: 2 }],
    [{}, "/a/b/c", { a: { b: { c: 1 } } }],
    [{ a: { d: 2 } }, "/a/b", { a: { b: 1, d: 2 } }],
    [{ a: ["x", "y"] }, "/a/1", { a: ["x", 1] }],
    [{ a: [{ b: 0 }] }, "/a/0/b", { a: [{ b: 1 }] }],
    [{}, "/a/0", { a: { "0": 1 } }],
    [{}, "/constructor/prototype", { constructor: { prototype: 1 } }],
  ] as [JsonObject, string, JsonObject][])("into %j at %s gives %j", (object, pointer, expected) => {
    expect(withValueAt(object, pointer, 1)).toEqual(expected);
  });

  it.each([
    [{ a: "text" }, "/a/b"],
    [{ a: null }, "/a/b"],
    [{ a: ["x"] }, "/a/1"],
    [{ a: ["x"] }, "/a/-"],
    [{ a: ["x"] }, "/a/length"],
    [{ a: [{}] }, "/a/1/b"],
    [{}, "/__proto__/admin"],
    [{}, "/a/__proto__"],
  ] as [JsonObject, string][])("into %j at %s is not possible", (object, pointer) => {
    expect(withValueAt(object, pointer, 1)).toBeUndefined();
    expect(Object.hasOwn(Object.prototype, "admin")).toBe(false);
  });

  it("makes the value readable at the pointer and does not change the original", () => {
    const keys = fc.string().filter((key) => key !== "__proto__");
    const objects = fc.dictionary(keys, fc.jsonValue()) as fc.Arbitrary<JsonObject>;
    fc.assert(
      fc.property(objects, fc.array(keys, { minLength: 1 }), fc.jsonValue(), (object, tokens, value) => {
        const before = JSON.stringify(object);
        const pointer = tokens.reduce(pointerTo, "");
        const changed = withValueAt(object, pointer, value as Json);
        if (changed !== undefined) expect(valueAt(changed, pointer)).toEqual(value);
        expect(JSON.stringify(object)).toBe(before);
      }),
    );
  });

  it("gives the same result for many values at once as one by one, and copies each parent once", () => {
    const object = { list: [{ a: 1 }, 2], keep: { b: 1 } };
    const places = [
      ["/list/0/a", 5],
      ["/list/1", { deep: {} }],
      ["/new/x", 1],
      ["/new/y", 2],
      ["/list/1/deep/er", 3],
    ] as const;
    const together = withValuesAt(object, places);
    const apart = places.reduce<JsonObject>(
      (copy, [pointer, value]) => withValueAt(copy, pointer, value) as JsonObject,
      object,
    );
    expect(together).toEqual(apart);
    expect(together?.keep).toBe(object.keep);
    expect(object).toEqual({ list: [{ a: 1 }, 2], keep: { b: 1 } });
    expect(places[1][1]).toEqual({ deep: {} });
  });

  it("throws for the empty pointer", () => {
    expect(() => withValueAt({}, "", 1)).toThrow("has a token");
  });
});
