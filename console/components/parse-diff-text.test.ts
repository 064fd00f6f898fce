import { describe, expect, it } from "vitest";
import { parseDiffText } from "./parse-diff-text.ts";

describe("a difference that a tool wrote", () => {
  it("is read line by line", () => {
    expect(parseDiffText(" one\n-two\n+2\n\n@@ -9 +9 @@\n")).toEqual([
      { is: "same", text: "one" },
      { is: "removed", text: "two" },
      { is: "added", text: "2" },
      { is: "same", text: "" },
      { is: "same", text: "@@ -9 +9 @@" },
    ]);
  });

  it.each(["", "a sentence", "- a list\nof words", "  only\n  indented"])("is not the text %j", (text) => {
    expect(parseDiffText(text)).toBeNull();
  });
});
