import { describe, expect, it } from "vitest";
import { imageKind } from "./image-kind.ts";

const bytes = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));

describe("the format of an image", () => {
  it.each([
    ["\x89PNG\r\n\x1a\n rest", "image/png"],
    ["\xff\xd8\xff\xe0 rest", "image/jpeg"],
    ["GIF89a rest", "image/gif"],
    ["RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp"],
    ["<svg onload=alert(1)>", null],
    ["<html>", null],
    ["\x89PN", null],
    ["RIFF\x10\x00\x00\x00WAVE", null],
    ["", null],
  ])("of %j is %s", (text, kind) => {
    expect(imageKind(bytes(text))).toBe(kind);
  });
});
