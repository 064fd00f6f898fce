import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NamePattern } from "./name-pattern.ts";

const names = (letters: readonly string[]) =>
  fc.array(fc.constantFrom(...letters), { maxLength: 8 }).map((list) => list.join(""));

describe("a name pattern", () => {
  it.each([
    ["mail.send", "mail.send", true],
    ["mail.send", "mail.sends", false],
    ["mail.*", "mail.send", true],
    ["mail.*", "mail.", true],
    ["mail.*", "mailbox", false],
    ["*", "", true],
    ["*.send", "mail.send", true],
    ["*.send", "send", false],
    ["a*a", "a", false],
    ["a*b*c", "a-b-c", true],
    ["a*b*c", "ac", false],
    ["a*bc*c", "abc", false],
    [".", "x", false],
  ])("%s matches %s: %s", (pattern, name, expected) => {
    expect(new NamePattern(pattern).matches(name)).toBe(expected);
  });

  it("matches the same names as the equivalent regular expression", () => {
    fc.assert(
      fc.property(names(["a", "b", "*"]), names(["a", "b"]), (pattern, name) => {
        expect(new NamePattern(pattern).matches(name)).toBe(
          new RegExp(`^${pattern.replaceAll("*", ".*")}$`).test(name),
        );
      }),
      { numRuns: 2000 },
    );
  });
});
