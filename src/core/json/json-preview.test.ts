import { describe, expect, it } from "vitest";
import type { Json } from "../values/json.ts";
import { jsonPreview, PREVIEW_CHARACTERS } from "./json-preview.ts";

describe("the preview of a JSON value", () => {
  it.each([[null], [true], [1.5], ['a"b'], [[]], [{}], [[1, [2, "x"]]], [{ a: 1, "b c": { d: [null] } }]] as Json[][])(
    "is its JSON text if that is short: %j",
    (value = null) => {
      expect(jsonPreview(value)).toBe(JSON.stringify(value));
    },
  );

  it("is the beginning of a longer text", () => {
    const value = { body: "x".repeat(1000), more: 1 };
    expect(jsonPreview(value)).toBe(`${JSON.stringify(value).slice(0, PREVIEW_CHARACTERS)}…`);
    const list = Array.from({ length: 1000 }, (_, at) => ({ at }));
    expect(jsonPreview(list)).toBe(`${JSON.stringify(list).slice(0, PREVIEW_CHARACTERS)}…`);
  });

  it("reads no more of a value than it shows", () => {
    const read: string[] = [];
    const fields = Object.defineProperties(
      {},
      Object.fromEntries(
        Array.from({ length: 1000 }, (_, at) => [
          `field${at}`,
          { enumerable: true, get: () => read.push(`field${at}`) && 1 },
        ]),
      ),
    );
    jsonPreview(fields as Json);
    expect(read.length).toBeLessThan(30);
  });
});
