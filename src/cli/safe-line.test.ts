import { describe, expect, it } from "vitest";
import { jsonLines, line, shortValue, tableLines } from "./safe-line.ts";

const red = (text: string): string => `\u001b[31m${text}\u001b[39m`;
const texts = (lines: readonly { readonly text: string }[]): readonly string[] => lines.map(({ text }) => text);

describe("SafeLine", () => {
  it("escapes its values once", () => {
    const inner = line`to ${"\u001b[2J"}`;
    expect(line`${inner} and ${"\\u001b"} ${7}`.text).toBe("to \\u001b[2J and \\u001b 7");
  });

  it("keeps the program's own colors", () => {
    expect(line`${line`${"\u001bx"}`.painted(red)}!`.text).toBe(`${red("\\u001bx")}!`);
  });

  it("counts only visible characters in its width", () => {
    expect(line`${line`done`.painted(red)}, ${"\n"}`.width).toBe("done, \\u000a".length);
  });
});

describe("table lines", () => {
  it("align columns with and without colors", () => {
    const rows = [
      [line`a`, line`done`.painted(red), line`x`],
      [line`long`, line`no`, line`yy`],
    ];
    expect(texts(tableLines(rows, "  "))).toEqual([`  a     ${red("done")}  x`, "  long  no    yy"]);
  });
});

describe("JSON value", () => {
  it("is printed whole and escaped where it is approved", () => {
    const input = { to: "a\u202eb", body: "x".repeat(1000) };
    const shown = texts(jsonLines(input, "  ")).join("\n");
    expect(shown).toContain("a\\u202eb");
    expect(JSON.parse(shown)).toEqual(input);
  });

  it("says how many characters a short value leaves out", () => {
    expect(shortValue("y".repeat(300)).text).toMatch(/^"y{199}… \(102 more; --json shows all\)$/);
  });
});
