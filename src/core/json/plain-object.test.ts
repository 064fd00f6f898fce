import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { isPlainObject } from "./plain-object.ts";

describe("a plain object", () => {
  it.each([
    ["a literal", {}],
    ["one without a prototype", Object.create(null)],
    ["one of another realm", runInNewContext("({ a: 1 })")],
  ])("is %s", (_, value) => {
    expect(isPlainObject(value)).toBe(true);
  });

  it.each([
    ["null", null],
    ["undefined", undefined],
    ["a text", "a"],
    ["an array", []],
    ["a date", new Date(0)],
    ["an instance", new (class Ana {})()],
    ["one that inherits", Object.create({ a: 1 })],
    ["a map", new Map()],
  ])("is not %s", (_, value) => {
    expect(isPlainObject(value)).toBe(false);
  });
});
