import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

interface Item {
  readonly id: string;
  readonly what: string;
  /** Null: nothing keeps it. */
  readonly kept: { readonly file: string; readonly title: string } | null;
}

const items = [...read("docs/checklist.md").matchAll(/^\| ([A-Z]d?\d+) \| (.+) \| (.+) \|$/gm)].map(
  ([, id = "", what = "", by = ""]): Item => {
    const [, file = "", title = ""] = /^`([^`]+\.ts)`: "(.+)"$/.exec(by) ?? [];
    return { id, what, kept: by === "–" ? null : { file, title } };
  },
);

const range = (letter: string, from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => `${letter}${from + at}`);

/** Every item that somebody was promised, in the order of the page. */
const promised = [
  ...range("W", 1, 36).filter((id) => id !== "W27"), // Of adapters, which are not here yet.
  ...range("Wd", 1, 13),
  ...range("G", 1, 25),
  ...["C21", "C22", "C23", "C42", "K18", "K19", "K22", "K28"],
  ...range("Gd", 1, 15),
  ...range("Cd", 1, 18),
  ...range("S", 42, 90),
  ...["A8", "A9", "A10", "A11", "A18", "K1", "K27"],
  ...range("Ad", 1, 13),
  ...range("Kd", 1, 5),
];

describe("docs/checklist.md", () => {
  it("has every item once, in order", () => {
    expect(items.map(({ id }) => id)).toEqual(promised);
  });

  it.each(items.flatMap(({ id, kept }) => (kept === null ? [] : [[id, kept.file, kept.title] as const])))(
    "names a test that exists for %s: %s",
    (_, file, title) => {
      expect(read(file)).toContain(`"${title}"`);
    },
  );

  it("says what is not done where nothing keeps an item", () => {
    const silent = items.filter(({ kept, what }) => kept === null && !/^\*Not done/.test(what));
    expect(silent.map(({ id }) => id)).toEqual([]);
  });
});
