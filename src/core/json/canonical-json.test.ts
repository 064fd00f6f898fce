import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Json, sameJson } from "../values/json.ts";
import { canonicalJson } from "./canonical-json.ts";

describe("canonical JSON", () => {
  it("is the text that RFC 8785 gives as an example", () => {
    const value = {
      numbers: [Number("333333333.33333329"), 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
      string: '€$\u000f\nA\'B"\\\\"/',
      literals: [null, true, false],
    };
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it("sorts keys by UTF-16 code units, as the RFC's second example does", () => {
    const value = { "€": 1, "\r": 2, "\ufb33": 3, "1": 4, "😀": 5, "\u0080": 6, ö: 7 };
    expect(canonicalJson(value)).toBe('{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}');
  });

  it.each([
    [-0, "0"],
    [1e21, "1e+21"],
    [1e20, "100000000000000000000"],
    [1e-7, "1e-7"],
    [Number.MAX_SAFE_INTEGER, "9007199254740991"],
    [5e-324, "5e-324"],
    [1.7976931348623157e308, "1.7976931348623157e+308"],
    [{}, "{}"],
    [[], "[]"],
    [Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
  ] as [Json, string][])("writes %j as %s", (value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });

  it("is the same text exactly for the same value", () => {
    const values = fc.jsonValue() as fc.Arbitrary<Json>;
    fc.assert(
      fc.property(values, values, (one, other) => {
        expect(canonicalJson(JSON.parse(canonicalJson(one)))).toBe(canonicalJson(one));
        expect(canonicalJson(one) === canonicalJson(other)).toBe(sameJson(one, other));
      }),
    );
  });

  it.each([
    ["undefined", undefined],
    ["a member that is undefined", { a: undefined }],
    ["a hole in an array", new Array(1)],
    ["NaN", Number.NaN],
    ["infinity", Number.POSITIVE_INFINITY],
    ["a date", new Date(0)],
    ["a map", new Map()],
    ["a function", () => 1],
    ["a big integer", 1n],
    ["a symbol", Symbol("a")],
    ["a lone surrogate", "\ud800"],
    ["a lone surrogate in a key", { "\udfff": 1 }],
  ])("does not exist for %s", (_, value) => {
    expect(() => canonicalJson(value as Json)).toThrow("invariant broken");
  });
});

describe("a value without a canonical text", () => {
  it.each<[unknown, string]>([
    [Number.NaN, "a JSON number is finite"],
    [{ a: [Number.POSITIVE_INFINITY] }, "a JSON number is finite"],
    [new Date(0), "JSON is made of plain objects"],
    ["\ud800", "a JSON text has no lone surrogates"],
    [{ "\udc00": 1 }, "a JSON text has no lone surrogates"],
  ])("throws, because it is a bug of the caller: %j", (value, why) => {
    expect(() => canonicalJson(value as Json)).toThrow(why);
  });
});
