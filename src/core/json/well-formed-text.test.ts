import { describe, expect, it } from "vitest";
import { isWellFormed, toWellFormed } from "./well-formed-text.ts";

describe("well-formed text", () => {
  it.each(["", "a", "é", "\u0000", "\ud83d\ude00", "\uffff"])("is %j", (text) => {
    expect(isWellFormed(text)).toBe(true);
  });

  it.each(["\ud800", "\udc00", "a\ud83d", "\ude00\ud83d"])("is not %j", (text) => {
    expect(isWellFormed(text)).toBe(false);
  });

  it("is produced by replacing each lone surrogate", () => {
    expect(toWellFormed("a\ud800b\ud83d\ude00\udfff")).toBe("a\ufffdb\ud83d\ude00\ufffd");
  });
});
