import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkJson, tidyJson, utf8Length } from "./check-json.ts";
import type { Json } from "./json.ts";

const limits = { bytes: 10_000, depth: 5, nodes: 100 };

function reasonsFor(value: unknown, read = checkJson): readonly string[] {
  const checked = read(value, limits);
  return checked.ok ? [] : checked.reasons.map(({ path, message }) => `${path}: ${message}`);
}

function nested(depth: number): unknown {
  return depth === 0 ? 1 : [nested(depth - 1)];
}

describe("checking a value as JSON", () => {
  it("gives a copy of what is JSON", () => {
    const value = { a: [1, "two", true, null, { b: {} }], constructor: 1, prototype: 2 };
    const checked = checkJson(value, limits);
    expect(checked).toEqual({ ok: true, value });
    expect(checked.ok && checked.value).not.toBe(value);
  });

  it("accepts exactly what a trip through text leaves unchanged", () => {
    const wide = { bytes: 1e9, depth: 1000, nodes: 1e9 };
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withDate: true, withMap: true, withSparseArray: true }), (value) => {
        const checked = checkJson(value, wide);
        if (checked.ok) expect(JSON.parse(JSON.stringify(checked.value))).toEqual(checked.value);
        if (checked.ok) expect(JSON.stringify(checked.value)).toBe(JSON.stringify(value));
      }),
    );
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.parse(JSON.stringify(value));
        fc.pre(!JSON.stringify(value).includes("proto"));
        expect(checkJson(text, wide)).toEqual({ ok: true, value: text });
      }),
    );
  });

  it.each([
    ["undefined", undefined, "undefined is not JSON"],
    ["a function", () => 1, "function is not JSON"],
    ["a symbol", Symbol("a"), "symbol is not JSON"],
    ["a big integer", 1n, "bigint is not JSON"],
    ["NaN", Number.NaN, "NaN is not a JSON number"],
    ["infinity", Number.NEGATIVE_INFINITY, "-Infinity is not a JSON number"],
    ["-0", -0, "-0 does not survive"],
    ["a lone surrogate", "a\ud800", "a lone surrogate"],
    ["a date", new Date(0), "only plain objects"],
    ["a map", new Map(), "only plain objects"],
    ["an instance", new (class Ana {})(), "only plain objects"],
  ])("refuses %s and says where", (_, value, message) => {
    expect(reasonsFor({ in: [value] })).toEqual([expect.stringContaining(`/in/0: ${message}`)]);
  });

  it("refuses a member that is undefined, a hole and a symbol key", () => {
    const holed = [1, 2, 3];
    delete holed[1];
    expect(reasonsFor({ a: undefined })).toHaveLength(1);
    expect(reasonsFor(holed)).toEqual(["/1: an array has no holes in JSON; put null there"]);
    expect(reasonsFor({ [Symbol("a")]: 1 })).toHaveLength(1);
  });

  it("refuses what contains itself", () => {
    const self: Record<string, unknown> = {};
    self.self = { self };
    expect(reasonsFor(self)).toEqual([expect.stringContaining("/self/self: a value cannot contain itself")]);
  });

  it("refuses what throws when it is looked at, and says where", () => {
    const explosive = Object.defineProperty({}, "b", { enumerable: true, get: () => expect.unreachable() });
    expect(reasonsFor({ a: [explosive] })).toEqual([expect.stringContaining("/a/0: it cannot be read")]);
  });

  it("counts a hole as a value, so that nobody reads a billion of them", () => {
    expect(reasonsFor(new Array(1_000_000_000)).at(-1)).toMatch(/fix these first/);
    expect(checkJson(new Array(1_000_000_000), limits)).toMatchObject({ ok: false, tooLarge: true });
  });

  it("lets the same value stand in two places", () => {
    const twice = { a: 1 };
    expect(reasonsFor([twice, twice])).toEqual([]);
  });

  it("refuses keys that could reach a prototype, wherever they stand", () => {
    const hostile = JSON.parse('{"a":{"__proto__":{"admin":true}},"constructor":{"prototype":{}}}');
    expect(reasonsFor(hostile)).toEqual([
      expect.stringContaining("/a/__proto__: "),
      expect.stringContaining("/constructor/prototype: "),
    ]);
  });

  it("refuses a key that is not text", () => {
    expect(reasonsFor({ "\ud800": 1 })).toEqual([expect.stringContaining("lone surrogate")]);
  });

  it("is what a value has itself, not what it was made from", () => {
    const heir = Object.assign(Object.create(Object.assign(Object.create(null), { b: 2 })), { a: 1 });
    expect(checkJson(heir, limits)).toEqual({ ok: true, value: { a: 1 } });
  });

  it("reports every reason at once", () => {
    expect(reasonsFor({ a: Number.NaN, b: [undefined, 1n], c: "\udfff" })).toHaveLength(4);
  });

  it.each([
    ["levels", nested(6), "/0/0/0/0/0: more than 5 levels deep"],
    ["values", Array.from({ length: 100 }, () => 1), ": more than 100 values"],
    ["bytes", "x".repeat(10_000), ": more than 10000 bytes"],
    ["bytes of keys", { ["k".repeat(10_000)]: 1, more: 2 }, ": more than 10000 bytes"],
  ])("has a limit for %s", (_, value, message) => {
    const checked = checkJson(value, limits);
    expect(checked).toMatchObject({ ok: false, tooLarge: true });
    expect(reasonsFor(value)).toEqual([expect.stringContaining(message)]);
  });

  it("lets what just fits pass", () => {
    expect(reasonsFor(nested(5))).toEqual([]);
    expect(reasonsFor(Array.from({ length: 99 }, () => 1))).toEqual([]);
    expect(reasonsFor("x".repeat(9998))).toEqual([]);
  });

  it("stops reading at the limit, however much there is", () => {
    const shared = Array.from({ length: 99 }, () => "x");
    const bomb = Array.from({ length: 99 }, () => Array.from({ length: 99 }, () => shared));
    expect(reasonsFor(bomb)).toEqual([": more than 100 values; make it smaller or split it"]);
  });
});

describe("tidying a computed value", () => {
  it("leaves out what is undefined and symbol keys, and makes -0 a 0", () => {
    const tidied = tidyJson({ a: undefined, b: -0, [Symbol("c")]: 1 }, limits);
    expect(tidied).toEqual({ ok: true, value: { b: 0 } });
    expect(tidied.ok && Object.is((tidied.value as { b: Json }).b, 0)).toBe(true);
  });

  it.each([[new Date(0)], [undefined], [Number.NaN], [1n], [() => 1]])("refuses %s all the same", (value) => {
    expect(reasonsFor([value], tidyJson)).toHaveLength(1);
  });
});

describe("the length of a text in UTF-8", () => {
  it("is what an encoder says", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length);
      }),
    );
  });
});
