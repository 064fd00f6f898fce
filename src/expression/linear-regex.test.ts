import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expressionLimits } from "../core/ports/expression.ts";
import { FuelMeter } from "./fuel-meter.ts";
import { LinearRegex } from "./linear-regex.ts";

const meter = () => new FuelMeter(1e9);
const matches = (pattern: string, text: string) => new LinearRegex(pattern).test(text, meter());

/** Patterns with every supported construct, over few letters so that they often match. */
const patterns = fc.letrec<{ pattern: string; part: string }>((tie) => ({
  pattern: fc
    .array(
      fc.array(tie("part"), { maxLength: 4 }).map((parts) => parts.join("")),
      { minLength: 1, maxLength: 3 },
    )
    .map((choices) => choices.join("|")),
  part: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom(
      "a",
      "b",
      ".",
      "^",
      "$",
      "[ab]",
      "[^a]",
      "[a-c]",
      "\\w",
      "\\d",
      "\\s",
      "\\D",
      "\\.",
      "é",
      "[\\d_-]",
    ),
    fc
      .tuple(fc.constantFrom("a", "b", "."), fc.constantFrom("*", "+", "?", "{2}", "{1,2}", "{0,}", "*?"))
      .map(([one, times]) => one + times),
    fc
      .tuple(tie("pattern"), fc.constantFrom("(", "(?:"), fc.constantFrom("", "*", "+", "?", "{2}", "{0,2}"))
      .map(([inner, open, times]) => `${open}${inner})${times}`),
  ),
}));

function isSmall(pattern: string): boolean {
  try {
    return new LinearRegex(pattern) !== null;
  } catch (error) {
    expect(String(error)).toContain("more than");
    return false;
  }
}

describe("a pattern", () => {
  it("matches the same texts as the built-in backtracking engine", () => {
    const texts = fc.array(fc.constantFrom("a", "b", "c", "1", ".", "\n", "é", "_"), { maxLength: 6 });
    fc.assert(
      fc.property(patterns.pattern, texts, (pattern, letters) => {
        const text = letters.join("");
        fc.pre(isSmall(pattern));
        expect(matches(pattern, text)).toBe(new RegExp(pattern, "u").test(text));
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ["^a$", "a\n", false],
    ["\\t\\n\\r\\f\\v", "\t\n\r\f\v", true],
    ["^\\$\\{x\\}$", "$\u007bx}", true],
    ["^[\\]\\-a]+$", "]-a", true],
    ["^[a-]+$", "a-", true],
    ["^[-a]+$", "-a", true],
    ["^[\\w.]+@example\\.org$", "ana.b@example.org", true],
    ["^[\\w.]+@example\\.org$", "ana@example.org.evil", false],
    ["^\\W$", "_", false],
    ["^\\S+$", "a b", false],
    ["^.$", "😀", true],
    ["^[😀-😂]$", "😁", true],
    ["^a{2,}$", "a", false],
    ["^a{2,}$", "aaaa", true],
    ["^a{2}$", "aaa", false],
    ["", "", true],
    ["^$", "", true],
    ["a^", "a", false],
    ["$a", "a", false],
    ["(a|b|)c$", "c", true],
  ])("%s matches %j: %s", (pattern, text, expected) => {
    expect(matches(pattern, text)).toBe(expected);
  });

  it.each([
    [")", "an unmatched )"],
    ["a)", "an unmatched )"],
    ["(a", "an unmatched ("],
    ["[a", "is incomplete"],
    ["a\\", "is incomplete"],
    ["[b-a]", "a range whose end is before its start"],
    ["[a-\\d]", "a set within a range"],
    ["[!-\\d]", "a set within a range"],
    ["[\\d-a]", "a set within a range"],
    ["[\\S]", "a negated set"],
    ["a{2,1}", "no repetition"],
    ["a{,2}", "no repetition"],
    ["a{12345}", "no repetition"],
    ["a{1", "no repetition"],
    ["a+*", "repeats a repetition"],
    ["a{2}{3}", "repeats a repetition"],
    ["|*", "repeats nothing at *"],
    ["+", "repeats nothing at +"],
    ["?", "repeats nothing at ?"],
    ["{1}", "repeats nothing at {"],
    ["(?=a)", "only (?: is supported"],
    ["\\1", "\\1, which is not supported"],
    ["\\b", "\\b, which is not supported"],
    ["(".repeat(51) + ")".repeat(51), "nested deeper than 50"],
    ["a".repeat(expressionLimits.pattern), "more than 500 instructions"],
  ])("%s is refused", (pattern, why) => {
    expect(() => new LinearRegex(pattern)).toThrow(why);
  });

  it("may have exactly the maximum number of instructions", () => {
    expect(matches("a".repeat(expressionLimits.pattern - 1), "a".repeat(600))).toBe(true);
  });

  it("takes at most twice the steps for a text of twice the length", () => {
    for (const pattern of ["(a+)+$", "^(a|aa)+$", "(.*)(.*)(.*)b", "(a?){20}a{20}b"]) {
      const spent = (length: number) => {
        const used = meter();
        new LinearRegex(pattern).test(`${"a".repeat(length)}!`, used);
        return used.spent;
      };
      expect(spent(2000) / spent(1000)).toBeLessThan(2.1);
    }
  });
});
