import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../values/json.ts";
import { checkJson, normalizeJson, utf8Length } from "./check-json.ts";

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

  it("accepts exactly the values that are unchanged after they are written as text and parsed", () => {
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

  it("refuses a value that contains itself", () => {
    const self: Record<string, unknown> = {};
    self.self = { self };
    expect(reasonsFor(self)).toEqual([expect.stringContaining("/self/self: a value cannot contain itself")]);
  });

  it("refuses a value whose getter throws, and says where", () => {
    const explosive = Object.defineProperty({}, "b", { enumerable: true, get: () => expect.unreachable() });
    expect(reasonsFor({ a: [explosive] })).toEqual([expect.stringContaining("/a/0: it cannot be read")]);
  });

  it("counts a hole as a value, so that the limit also stops a billion holes", () => {
    expect(reasonsFor(new Array(1_000_000_000)).at(-1)).toMatch(/fix these first/);
    expect(checkJson(new Array(1_000_000_000), limits)).toMatchObject({ ok: false, tooLarge: true });
  });

  it("accepts the same value in two places", () => {
    const twice = { a: 1 };
    expect(reasonsFor([twice, twice])).toEqual([]);
  });

  it("refuses keys that could reach a prototype at every depth", () => {
    const hostile = JSON.parse('{"a":{"__proto__":{"admin":true}},"constructor":{"prototype":{}}}');
    expect(reasonsFor(hostile)).toEqual([
      expect.stringContaining("/a/__proto__: "),
      expect.stringContaining("/constructor/prototype: "),
    ]);
  });

  it("refuses a key that is not text", () => {
    expect(reasonsFor({ "\ud800": 1 })).toEqual([expect.stringContaining("lone surrogate")]);
  });

  it("reads own members and ignores inherited ones", () => {
    const inheriting = Object.assign(Object.create(Object.assign(Object.create(null), { b: 2 })), { a: 1 });
    expect(checkJson(inheriting, limits)).toEqual({ ok: true, value: { a: 1 } });
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

  it("accepts a value exactly at its limits", () => {
    expect(reasonsFor(nested(5))).toEqual([]);
    expect(reasonsFor(Array.from({ length: 99 }, () => 1))).toEqual([]);
    expect(reasonsFor("x".repeat(9998))).toEqual([]);
  });

  it("stops reading at the limit, however large the value is", () => {
    const shared = Array.from({ length: 99 }, () => "x");
    const bomb = Array.from({ length: 99 }, () => Array.from({ length: 99 }, () => shared));
    expect(reasonsFor(bomb)).toEqual([": more than 100 values; make it smaller or split it"]);
  });
});

describe("normalizing a computed value", () => {
  it("omits undefined members and symbol keys, and turns -0 into 0", () => {
    const normalized = normalizeJson({ a: undefined, b: -0, [Symbol("c")]: 1 }, limits);
    expect(normalized).toEqual({ ok: true, value: { b: 0 } });
    expect(normalized.ok && Object.is((normalized.value as { b: Json }).b, 0)).toBe(true);
  });

  it.each([[new Date(0)], [undefined], [Number.NaN], [1n], [() => 1]])("refuses %s all the same", (value) => {
    expect(reasonsFor([value], normalizeJson)).toHaveLength(1);
  });
});

describe("the length of a text in UTF-8", () => {
  it("equals the length that an encoder gives", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length);
      }),
    );
  });
});
