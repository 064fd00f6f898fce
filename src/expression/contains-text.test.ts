import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { containsText } from "./contains-text.ts";
import { FuelMeter } from "./fuel-meter.ts";

const letters = fc.array(fc.constantFrom("a", "b"), { maxLength: 12 }).map((list) => list.join(""));

describe("containsText", () => {
  it("finds the same texts as String.includes", () => {
    fc.assert(
      fc.property(letters, letters, (text, part) => {
        expect(containsText(text, part, new FuelMeter(1000))).toBe(text.includes(part));
      }),
      { numRuns: 2000 },
    );
  });

  it("is charged for the length of both texts before it starts", () => {
    const meter = new FuelMeter(100);
    containsText("a".repeat(640), "b".repeat(64), meter);
    expect(meter.spent).toBe(11);
    expect(() => containsText("a".repeat(64 * 90), "b", meter)).toThrow("more than 100 steps");
  });
});
