import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { escapeControls } from "./escape-controls.ts";

const attacks: readonly (readonly [name: string, text: string, shown: string])[] = [
  ["a window title", "\u001b]0;pwned\u0007", "\\u001b]0;pwned\\u0007"],
  ["a cleared screen", "\u001b[2J\u001b[H", "\\u001b[2J\\u001b[H"],
  ["a link that says something else", "\u001b]8;;http://evil\u001b\\ok", "\\u001b]8;;http://evil\\u001b\\ok"],
  ["a filled clipboard", "\u001b]52;c;cm0gLXJm\u0007", "\\u001b]52;c;cm0gLXJm\\u0007"],
  ["an eight-bit escape", "\u009b31m", "\\u009b31m"],
  ["a line that overwrites itself", "send to evil\rsend to ana ", "send to evil\\u000dsend to ana "],
  ["a line of its own", "no\ncompleted  run_1", "no\\u000acompleted  run_1"],
  ["backspaces", "evil\b\b\b\bana", "evil\\u0008\\u0008\\u0008\\u0008ana"],
  ["a NUL and a DEL", "a\u0000b\u007f", "a\\u0000b\\u007f"],
  ["text that runs backwards", "ana\u202egro.live\u202c", "ana\\u202egro.live\\u202c"],
  ["an isolate", "\u2066evil\u2069", "\\u2066evil\\u2069"],
  ["letters of no width", "an\u200ba\ufeff@\u2060x", "an\\u200ba\\ufeff@\\u2060x"],
  ["tags that only a model reads", "hi\u{e0041}", "hi\\udb40\\udc41"],
  ["a filler that looks like nothing", "a\u3164b\u00adc", "a\\u3164b\\u00adc"],
  ["line separators", "a\u2028b\u2029c", "a\\u2028b\\u2029c"],
  ["half a character", "a\ud800b", "a\\ud800b"],
];

describe("escapeControls", () => {
  it.each(attacks)("prints %s as an escape", (_, text, shown) => {
    expect(escapeControls(text)).toBe(shown);
  });

  it("leaves letters of every script, punctuation and emoji unchanged", () => {
    const text = `Grüße, Ελλάδα, 日本語, العربية, हिन्दी: "100 %" \\ ~ 🎉`;
    expect(escapeControls(text)).toBe(text);
  });

  it("leaves no control character in any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
        expect(escapeControls(text)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/);
      }),
    );
  });

  it("keeps JSON equal in value", () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        const text = JSON.stringify(JSON.parse(json));
        expect(JSON.parse(escapeControls(text))).toEqual(JSON.parse(text));
      }),
    );
  });
});
