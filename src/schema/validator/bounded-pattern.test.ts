import { describe, expect, it } from "vitest";
import { boundedPattern } from "./bounded-pattern.ts";
import { patternCost } from "./pattern-cost.ts";

describe("the cost of a pattern", () => {
  it.each([
    ["^abc$", 0, 1],
    ["abc", 1, 1],
    ["^[a-z]+$", 1, 1],
    ["a*b", 2, 1],
    ["^a*a*b$", 2, 1],
    ["^a{2,4}b?$", 0, 6],
    ["^(a{0,3}b?){2}$", 0, 64],
    ["^(ab)+$", 1, 1],
    ["^(?:foo|bar|baz)$", 0, 3],
    ["^a|b*", 2, 2],
    ["^a|b", 1, 2],
  ])("%s: power %i, %i alternatives", (pattern, power, alternatives) => {
    expect(patternCost(pattern)).toEqual({ power, alternatives });
  });
});

const tested = (pattern: string, text: string) => boundedPattern(pattern).test(text, () => {});
const thrown = (): never => {
  throw new Error("too expensive");
};

describe("a bounded pattern", () => {
  const longText = "a".repeat(50_000);

  it("matches like the built-in engine", () => {
    expect(tested("^a+$", longText)).toBe(true);
    expect(tested("^\\s*\\S", "\u00a0x")).toBe(true);
    expect(tested("(?=.*b)a", "ab")).toBe(true);
    expect(() => boundedPattern("[")).toThrow(SyntaxError);
  });

  it("uses the linear engine for a long text if backtracking is expensive", () => {
    expect(tested("a*a*b$", `${"a".repeat(2000)}b`)).toBe(true);
    expect(tested("a*a*b$", "a".repeat(2000))).toBe(false);
  });

  it("throws if neither engine can match", () => {
    expect(() => tested("a*a*b$", longText)).toThrow("more than 40000 steps");
    expect(() => tested("\\s*\\s*x", longText)).toThrow("50000 characters are too many for the pattern");
    expect(() => tested("(?=a*b)a*", longText)).toThrow("too many");
  });

  it("charges its cost with both engines", () => {
    const spentOn = (pattern: string, text: string) => {
      let sum = 0;
      boundedPattern(pattern).test(text, (steps) => {
        sum += steps;
      });
      return sum;
    };
    expect(spentOn("^abc$", "abc")).toBe(1);
    expect(spentOn("a*b", "a".repeat(1000))).toBe(2500);
    expect(spentOn("a*b", "a".repeat(2000))).toBeGreaterThan(1000);
    expect(() => boundedPattern("a").test("a", () => thrown())).toThrow("too expensive");
  });
});
