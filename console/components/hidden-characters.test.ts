import { describe, expect, it } from "vitest";
import { hasHiddenCharacters, textParts } from "./hidden-characters.ts";

describe("the parts of a text", () => {
  it("are one plain part if every character can be seen", () => {
    expect(textParts("a b\n\tż 日本 👍")).toEqual([{ is: "plain", text: "a b\n\tż 日本 👍" }]);
    expect(textParts("")).toEqual([{ is: "plain", text: "" }]);
  });

  it("name a character that reorders text", () => {
    expect(textParts("to \u202egro")).toEqual([
      { is: "plain", text: "to " },
      { is: "hidden", code: "U+202E", name: "right-to-left override" },
      { is: "plain", text: "gro" },
    ]);
  });

  it.each([
    "\u0000",
    "\u001b",
    "\r",
    "\u00a0",
    "\u00ad",
    "\u061c",
    "\u115f",
    "\u180e",
    "\u200b",
    "\u200d",
    "\u2028",
    "\u2066",
    "\u3164",
    "\ufe0f",
    "\ufeff",
    "\ud800",
    "\u{e0041}",
    "\u{1d173}",
    "\u2003",
  ])("show U+%j as its code", (character) => {
    expect(hasHiddenCharacters(`a${character}b`)).toBe(true);
    expect(textParts(`a${character}b`).map(({ is }) => is)).toEqual(["plain", "hidden", "plain"]);
  });
});
