import type { Json } from "../core/json/json.ts";
import { neutral } from "./neutral-text.ts";

/**
 * One line that is safe to print. There is no other way to print than a Line and no other way to make one than `line`,
 * which neutralises everything put into it, so nothing from a plan or a tool reaches the terminal raw.
 */
export class Line {
  readonly text: string;
  /** How many characters it shows: colours take no room. */
  readonly width: number;

  private constructor(text: string, width: number) {
    this.text = text;
    this.width = width;
  }

  static of(words: TemplateStringsArray, ...values: readonly (string | number | Line)[]): Line {
    const lines = values.map((value) => (value instanceof Line ? value : Line.#neutral(String(value))));
    const texts = lines.map(({ text }) => text);
    const width = [...words, ...lines].reduce(
      (sum, part) => sum + (part instanceof Line ? part.width : part.length),
      0,
    );
    return new Line(String.raw({ raw: words }, ...texts), width);
  }

  static #neutral(text: string): Line {
    const safe = neutral(text);
    return new Line(safe, safe.length);
  }

  painted(paint: (text: string) => string): Line {
    return new Line(paint(this.text), this.width);
  }

  padded(width: number): Line {
    return line`${this}${" ".repeat(Math.max(0, width - this.width))}`;
  }
}

export const line = Line.of;

function joined(lines: readonly Line[], separator: string): Line {
  return lines.reduce((left, right) => line`${left}${separator}${right}`);
}

const glanceMax = 200;

/** A value at a glance: on one line, and cut where it gets long. */
export function glance(value: Json): Line {
  const text = JSON.stringify(value);
  if (text.length <= glanceMax) return line`${text}`;
  return line`${text.slice(0, glanceMax)}… (${text.length - glanceMax} more; --json shows all)`;
}

/** A value over several lines, whole: what is approved is what is shown. */
export function jsonLines(value: Json, indent: string): readonly Line[] {
  return JSON.stringify(value, null, 2)
    .split("\n")
    .map((text) => line`${indent}${text}`);
}

/** Cells in columns as wide as their widest, the last one as long as it is. */
export function tableLines(rows: readonly (readonly Line[])[], indent = ""): readonly Line[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, cell.width);
    });
  }
  return rows.map((row) => {
    const cells = row.map((cell, column) => (column === row.length - 1 ? cell : cell.padded(widths[column] ?? 0)));
    return line`${indent}${joined(cells, "  ")}`;
  });
}
