import { describe, expect, it } from "vitest";
import { isExponential } from "./pattern-cost.ts";

describe("a pattern", () => {
  it.each([
    "^(a+)+$",
    "(a*)*",
    "((a+))+",
    "(?:a+b?)*",
    "(?<name>a+)+",
    "(a|a)*",
    "(a|ab)+",
    "((a|b))*",
    "(a?)*",
    "(a{1,3})*",
    "(a+){10}",
    "(a+){2,5}",
    "(a|b){11}",
    "(.*a){20}",
    "([a-z]+)*",
    "([)]+)*",
    "(\\)+)*",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "(a+)+?",
    ")a",
  ])("%s may be exponential", (pattern) => {
    expect(isExponential(pattern)).toBe(true);
  });

  it.each([
    "",
    "^[a-z]+$",
    "^\\d{3}-\\d{4}$",
    "^(\\d{1,3}\\.){3}\\d{1,3}$",
    "^(foo|bar)$",
    "^(foo|bar)?$",
    "^(ab)+$",
    "^[(+)*]+$",
    "^\\(a+\\)+$",
    "^(?=a+)b",
    "(a+)?",
    "(a+){1}",
    "^[^@]+@[^@]+$",
    "{2}",
    "a{,3}",
    "[",
    "\\",
    "(?:[a-f]{2}){4,}",
  ])("%s is safe", (pattern) => {
    expect(isExponential(pattern)).toBe(false);
  });
});
