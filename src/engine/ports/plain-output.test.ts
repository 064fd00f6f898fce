import { describe, expect, it } from "vitest";
import { plainOutput } from "./plain-output.ts";

class Point {
  readonly x = 1;
  readonly hidden = undefined;
}

describe("the plain form of an output", () => {
  it.each<[string, unknown, unknown]>([
    ["nothing", undefined, null],
    ["a date", new Date(0), "1970-01-01T00:00:00.000Z"],
    ["an object of a class", new Point(), { x: 1 }],
    ["an object that writes itself down", { toJSON: () => ({ a: new Date(0) }) }, { a: "1970-01-01T00:00:00.000Z" }],
    ["fields without a value", { a: 1, b: undefined }, { a: 1 }],
    ["items without a value", [undefined, new Point()], [null, { x: 1 }]],
  ])("of %s is data", (_, value, plain) => {
    expect(plainOutput(value)).toEqual(plain);
  });

  it.each<[string, unknown]>([
    ["plain data", { a: [1, { b: "c" }], d: null }],
    ["a number that is not finite", Number.NaN],
    ["a bigint", 1n],
    ["bytes", new Uint8Array(2)],
    ["a map", new Map([[1, 2]])],
    ["a promise", Promise.resolve(1)],
    ["an invalid date", new Date(Number.NaN)],
    ["a list with many holes", new Array(100_000_000)],
  ])("of %s is the value itself", (_, value) => {
    expect(plainOutput(value)).toBe(value);
  });

  it("of an object that contains itself is the object itself", () => {
    const circle: Record<string, unknown> = { at: new Date(0) };
    circle.self = circle;
    expect(plainOutput(circle)).toBe(circle);
  });
});
