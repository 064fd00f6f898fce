import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Meter } from "./meter.ts";
import { contains } from "./search.ts";

const letters = fc.array(fc.constantFrom("a", "b"), { maxLength: 12 }).map((list) => list.join(""));

describe("searching a text", () => {
  it("finds what the host finds", () => {
    fc.assert(
      fc.property(letters, letters, (text, part) => {
        expect(contains(text, part, new Meter(1000))).toBe(text.includes(part));
      }),
      { numRuns: 2000 },
    );
  });

  it("is paid for by the length of both, before it begins", () => {
    const meter = new Meter(100);
    contains("a".repeat(640), "b".repeat(64), meter);
    expect(meter.spent).toBe(11);
    expect(() => contains("a".repeat(64 * 90), "b", meter)).toThrow("more than 100 steps");
  });
});
