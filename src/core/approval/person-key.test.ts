import { describe, expect, it } from "vitest";
import { isSamePerson } from "./person-key.ts";

describe("two ids of a person", () => {
  it.each([
    ["case", "Bob", "bob"],
    ["full-width letters", "ｂｏｂ", "bob"],
    ["ligatures", "ﬁona", "Fiona"],
    ["accents in one character or two", "ren\u00e9", "rene\u0301"],
    ["sharp s and double s", "strauß", "STRAUSS"],
    ["a final sigma", "νίκος", "ΝΊΚΟΣ"],
  ])("are the same if they differ only in %s", (_what, one, other) => {
    expect(isSamePerson(one, other)).toBe(true);
  });

  it.each([
    ["bob", "rob"],
    ["bob", "bob2"],
    ["rene", "ren\u00e9"],
  ])("are different for %s and %s", (one, other) => {
    expect(isSamePerson(one, other)).toBe(false);
  });
});
