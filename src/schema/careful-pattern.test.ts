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

describe("a careful pattern", () => {
  const aMany = "a".repeat(50_000);

  it("is what the language says it is", () => {
    expect(carefulPattern("^a+$").test(aMany)).toBe(true);
    expect(carefulPattern("^\\s*\\S").test("\u00a0x")).toBe(true);
    expect(carefulPattern("(?=.*b)a").test("ab")).toBe(true);
    expect(() => carefulPattern("[")).toThrow(SyntaxError);
  });

  it("goes through a long text once where going back and forth would grow", () => {
    expect(carefulPattern("a*a*b$").test(`${"a".repeat(2000)}b`)).toBe(true);
    expect(carefulPattern("a*a*b$").test("a".repeat(2000))).toBe(false);
  });

  it("has no answer where neither can be done", () => {
    expect(() => carefulPattern("a*a*b$").test(aMany)).toThrow("steps to answer");
    expect(() => carefulPattern("\\s*\\s*x").test(aMany)).toThrow("50000 characters are too many for the pattern");
    expect(() => carefulPattern("(?=a*b)a*").test(aMany)).toThrow("too many");
  });

  it("is known by its text", () => {
    expect(String(carefulPattern("a/b"))).toBe(String(/a\/b/u));
  });
});
