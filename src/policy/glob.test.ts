import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Glob } from "./glob.ts";

const names = (letters: readonly string[]) =>
  fc.array(fc.constantFrom(...letters), { maxLength: 8 }).map((list) => list.join(""));

describe("names by a pattern", () => {
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
  ])("%s and %s: %s", (pattern, name, is) => {
    expect(new Glob(pattern).matches(name)).toBe(is);
  });

  it("fit what the same pattern as a regular expression fits", () => {
    fc.assert(
      fc.property(names(["a", "b", "*"]), names(["a", "b"]), (pattern, name) => {
        expect(new Glob(pattern).matches(name)).toBe(new RegExp(`^${pattern.replaceAll("*", ".*")}$`).test(name));
      }),
      { numRuns: 2000 },
    );
  });
});
