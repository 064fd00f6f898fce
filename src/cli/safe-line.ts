import type { Json } from "../core/values/json.ts";
import { escapeControls } from "./escape-controls.ts";

/**
 * One line that is safe to print. The terminal prints only a SafeLine, and only `line` makes one. It escapes every value,
 * so no text of a plan or a tool reaches the terminal unescaped.
 */
export class SafeLine {
  readonly text: string;
  /** The number of visible characters; colours do not count. */
  readonly width: number;

  private constructor(text: string, width: number) {
    this.text = text;
    this.width = width;
  }

  static of(words: TemplateStringsArray, ...values: readonly (string | number | SafeLine)[]): SafeLine {
    const lines = values.map((value) => (value instanceof SafeLine ? value : SafeLine.#escaped(String(value))));
    const texts = lines.map(({ text }) => text);
    const width = [...words, ...lines].reduce(
      (sum, part) => sum + (part instanceof SafeLine ? part.width : part.length),
      0,
    );
    return new SafeLine(String.raw({ raw: words }, ...texts), width);
  }

  static #escaped(text: string): SafeLine {
    const safe = escapeControls(text);
    return new SafeLine(safe, safe.length);
  }

  painted(paint: (text: string) => string): SafeLine {
    return new SafeLine(paint(this.text), this.width);
  }

  padded(width: number): SafeLine {
    return line`${this}${" ".repeat(Math.max(0, width - this.width))}`;
  }
}

export const line = SafeLine.of;

function joinLines(lines: readonly SafeLine[], separator: string): SafeLine {
  return lines.reduce((left, right) => line`${left}${separator}${right}`);
}

const shortValueMax = 200;

/** Returns a value on one line, cut if it is long. */
export function shortValue(value: Json): SafeLine {
  const text = JSON.stringify(value);
  if (text.length <= shortValueMax) return line`${text}`;
  return line`${text.slice(0, shortValueMax)}… (${text.length - shortValueMax} more; --json shows all)`;
}

/** Returns a whole value on several lines: a person approves exactly what is shown. */
export function jsonLines(value: Json, indent: string): readonly SafeLine[] {
  return JSON.stringify(value, null, 2)
    .split("\n")
    .map((text) => line`${indent}${text}`);
}

/** Aligns cells in columns; the last column is not padded. */
export function tableLines(rows: readonly (readonly SafeLine[])[], indent = ""): readonly SafeLine[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, cell.width);
    });
  }
  return rows.map((row) => {
    const cells = row.map((cell, column) => (column === row.length - 1 ? cell : cell.padded(widths[column] ?? 0)));
    return line`${indent}${joinLines(cells, "  ")}`;
  });
}
