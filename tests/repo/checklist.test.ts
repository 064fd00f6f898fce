import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { repositoryPath } from "./repository-path.ts";

const read = (path: string) => readFileSync(repositoryPath(path), "utf8");

interface Item {
  readonly id: string;
  readonly what: string;
  /** Null if no test covers the item. */
  readonly kept: { readonly file: string; readonly title: string } | null;
}

const items = [...read("project/checklist.md").matchAll(/^\| ([A-Z]d?\d+) \| (.+) \| (.+) \|$/gm)].map(
  ([, id = "", what = "", by = ""]): Item => {
    const [, file = "", title = ""] = /^`([^`]+\.ts)`: "(.+)"$/.exec(by) ?? [];
    return { id, what, kept: by === "–" ? null : { file, title } };
  },
);

const range = (letter: string, from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => `${letter}${from + at}`);

/** Every promised item, in the order of the page. */
const promised = [
  ...range("W", 1, 36),
  ...range("Wd", 1, 13),
  ...range("G", 1, 25),
  ...range("Gd", 1, 15),
  ...range("Cd", 1, 26),
  // C1, C4, C30, C31 and C39 to C41 are about an agent runtime: models, memory, skills and built-in tools.
  ...range("C", 2, 42).filter((id) => !["C4", "C30", "C31", "C39", "C40", "C41"].includes(id)),
  ...range("S", 42, 90),
  ...range("A", 1, 22),
  ...range("K", 1, 29),
  ...range("Ad", 1, 13),
  ...range("Kd", 1, 5),
];

describe("project/checklist.md", () => {
  it("has every item once, in order", () => {
    expect(items.map(({ id }) => id)).toEqual(promised);
  });

  it.each(items.flatMap(({ id, kept }) => (kept === null ? [] : [[id, kept.file, kept.title] as const])))(
    "names a test that exists for %s: %s",
    (_, file, title) => {
      expect(read(file)).toContain(`"${title}"`);
    },
  );

  it("has at least 108 whole items of the 112 promises of the first four designs", () => {
    const promises = items.filter(({ id }) => /^[WGAK]\d/.test(id));
    const whole = promises.filter(({ what, kept }) => kept !== null && !what.includes("*Not done*"));
    expect(promises).toHaveLength(112);
    expect(whole.length).toBeGreaterThanOrEqual(108);
  });

  it("marks an item as not done where no test covers it", () => {
    const silent = items.filter(({ kept, what }) => kept === null && !/^\*Not done/.test(what));
    expect(silent.map(({ id }) => id)).toEqual([]);
  });
});
