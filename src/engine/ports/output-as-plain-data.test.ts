import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { outputAsPlainData } from "./output-as-plain-data.ts";

class Point {
  readonly x = 1;
  readonly hidden = undefined;
  readonly norm = () => this.x;
}

const circle: Record<string, unknown> = { at: new Date(0) };
circle.self = circle;
const revoked = Proxy.revocable({}, {});
revoked.revoke();
const throws = () => {
  throw new Error("no");
};
const deep = Array.from({ length: 100_000 }).reduce((inner) => [inner], 1);
const epoch = "1970-01-01T00:00:00.000Z";
// Of the text "abc", as in FIPS 180-2.
const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

describe("the plain form of an output", () => {
  it.each<[string, unknown, unknown]>([
    ["nothing", undefined, null],
    ["a date", new Date(0), epoch],
    ["an invalid date", new Date(Number.NaN), null],
    ["an object of a class", new Point(), { x: 1 }],
    ["an object that writes itself down", { toJSON: () => ({ a: new Date(0) }) }, { a: epoch }],
    ["an address", new URL("https://example.org/a"), "https://example.org/a"],
    ["fields without a value", { a: 1, b: undefined, c: () => 1, d: Symbol("s") }, { a: 1 }],
    ["items without a value", [undefined, new Point(), () => 1], [null, { x: 1 }, null]],
    ["a function", () => 1, null],
    ["a symbol", Symbol("s"), null],
    ["a number that is no number", { a: Number.NaN }, { a: "NaN" }],
    ["a number that is not finite", [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY], ["Infinity", "-Infinity"]],
    ["a negative zero", [-0], [0]],
    ["a bigint", { n: 2n ** 70n }, { n: "1180591620717411303424" }],
    ["a map with texts as keys", new Map([["a", new Date(0)]]), { a: epoch }],
    ["a map with other keys", new Map([[1, "one"]]), [[1, "one"]]],
    ["a set", new Set(["a", 1n]), ["a", "1"]],
    ["an array of numbers", new Float64Array([1.5, Number.NaN]), [1.5, "NaN"]],
    [
      "an error",
      Object.assign(new TypeError("bad"), { status: 400 }),
      { name: "TypeError", message: "bad", status: 400 },
    ],
    ["a pattern", /a+/g, "/a+/g"],
    ["a boxed text", Object("text"), "text"],
    ["a lone surrogate", ["a\ud800"], ["a\ufffd"]],
    ["a hole", new Array(2), [null, null]],
    ["a key that reaches for a prototype", JSON.parse('{"__proto__":{"admin":true},"a":1}'), { a: 1 }],
    ["a key that reaches for it by another name", { constructor: { prototype: 1, a: 1 } }, { constructor: { a: 1 } }],
    ["a cycle", circle, { at: epoch, self: { omitted: "a cycle" } }],
    ["a promise", { a: Promise.resolve(1) }, { a: { omitted: "Promise" } }],
    ["a web stream", new ReadableStream(), { omitted: "ReadableStream" }],
    ["a stream of Node", { body: Readable.from(["a"]) }, { body: { omitted: "Readable" } }],
    ["a weak map", new WeakMap(), { omitted: "WeakMap" }],
    [
      "a field that throws",
      Object.defineProperty({ b: 1 }, "a", { enumerable: true, get: throws }),
      { b: 1, a: { omitted: "it cannot be read: no" } },
    ],
    ["a toJSON that throws", [{ toJSON: throws }], [{ omitted: "it cannot be read: no" }]],
    ["too many levels", deep, { omitted: "an output of more than 64 levels" }],
    ["too many values", new Array(100_000_000), { omitted: "an output of more than 100000 values" }],
    ["too long a text", "x".repeat(9_000_000), { omitted: "an output of more than 8388608 bytes" }],
  ])("of %s is data", (_, value, plain) => {
    expect(outputAsPlainData(value)).toEqual({ value: plain, contents: null });
  });

  it.each<[string, unknown]>([
    ["a buffer", Buffer.from("abc")],
    ["an array of bytes", new TextEncoder().encode("abc")],
    ["a view of a part", new DataView(new TextEncoder().encode("xabcx").buffer, 1, 3)],
    ["an array buffer", new Uint8Array([97, 98, 99]).buffer],
  ])("of %s is a reference to the bytes", (_, bytes) => {
    const reference = { blob: abc, bytes: 3 };
    expect(outputAsPlainData(bytes)).toEqual({ value: reference, contents: { [abc]: "YWJj" } });
    expect(outputAsPlainData([{ a: bytes }, bytes])).toEqual({
      value: [{ a: reference }, reference],
      contents: { [abc]: "YWJj" },
    });
  });

  it("of bytes that are too many says so", () => {
    const { value, contents } = outputAsPlainData(new Uint8Array(7_000_000));
    expect(value).toEqual({ omitted: "an output of more than 8388608 bytes" });
    expect(contents).toBeNull();
  });

  it("of an object that cannot be looked at says so", () => {
    expect(outputAsPlainData({ a: revoked.proxy }).value).toMatchObject({
      a: { omitted: expect.stringContaining("revoked") },
    });
  });

  it("of plain data is the value itself", () => {
    const value = { a: [1, { b: "c" }], d: null, e: Object.create(null) };
    expect(outputAsPlainData(value).value).toBe(value);
  });
});
