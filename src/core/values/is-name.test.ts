import { describe, expect, it } from "vitest";
import { isName } from "./is-name.ts";

describe("a name", () => {
  it.each(["ana", "Ana María", "ana@acme.example", "李雷", "a", "a".repeat(200), "🙂"])("can be %j", (name) => {
    expect(isName(name)).toBe(true);
  });

  it.each([
    ["a space at its end", "bob "],
    ["a space at its start", " bob"],
    ["a no-break space at its end", "bob\u00a0"],
    ["a zero-width space", "bo\u200bb"],
    ["a zero-width joiner", "bob\u200d"],
    ["a byte order mark", "\ufeffbob"],
    ["a soft hyphen", "bo\u00adb"],
    ["a change of direction", "bob\u202e"],
    ["a direction isolate", "\u2066bob\u2069"],
    ["a filler that shows nothing", "bob\u3164"],
    ["a blank braille pattern", "bob\u2800"],
    ["a variation selector", "bob\ufe0f"],
    ["a tag character", "bob\u{e0041}"],
    ["a line separator", "bob\u2028x"],
    ["a control character", "bob\u0007"],
    ["half of a surrogate pair", "bob\ud800"],
    ["no character", ""],
    ["too many characters", "a".repeat(201)],
  ])("cannot have %s", (_what, name) => {
    expect(isName(name)).toBe(false);
  });
});
