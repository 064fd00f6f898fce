import { describe, expect, it } from "vitest";
import { carefulPattern } from "./careful-pattern.ts";
import { effortOf } from "./pattern-guard.ts";

describe("what a pattern takes", () => {
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
  ])("%s: a length to the power of %i, %i ways", (pattern, power, ways) => {
    expect(effortOf(pattern)).toEqual({ power, ways });
  });
});

const tested = (pattern: string, text: string) => carefulPattern(pattern).test(text, () => {});
const thrown = (): never => {
  throw new Error("too dear");
};

describe("a careful pattern", () => {
  const aMany = "a".repeat(50_000);

  it("is what the language says it is", () => {
    expect(tested("^a+$", aMany)).toBe(true);
    expect(tested("^\\s*\\S", "\u00a0x")).toBe(true);
    expect(tested("(?=.*b)a", "ab")).toBe(true);
    expect(() => carefulPattern("[")).toThrow(SyntaxError);
  });

  it("goes through a long text once where going back and forth would grow", () => {
    expect(tested("a*a*b$", `${"a".repeat(2000)}b`)).toBe(true);
    expect(tested("a*a*b$", "a".repeat(2000))).toBe(false);
  });

  it("has no answer where neither can be done", () => {
    expect(() => tested("a*a*b$", aMany)).toThrow("steps to answer");
    expect(() => tested("\\s*\\s*x", aMany)).toThrow("50000 characters are too many for the pattern");
    expect(() => tested("(?=a*b)a*", aMany)).toThrow("too many");
  });

  it("says what it takes before it is done, however it is done", () => {
    const paid = (pattern: string, text: string) => {
      let sum = 0;
      carefulPattern(pattern).test(text, (steps) => {
        sum += steps;
      });
      return sum;
    };
    expect(paid("^abc$", "abc")).toBe(1);
    expect(paid("a*b", "a".repeat(1000))).toBe(2500);
    expect(paid("a*b", "a".repeat(2000))).toBeGreaterThan(1000);
    expect(() => carefulPattern("a").test("a", () => thrown())).toThrow("too dear");
  });
});
