import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { repositoryPath } from "./repository-path.ts";

const read = (path: string) => readFileSync(repositoryPath(path), "utf8");

const rows = [...read("project/bad-input.md").matchAll(/^\| ([BCHN]\d+) .+ \| `([^`]+)`: "(.+)" \|$/gm)].map(
  ([, item = "", file = "", title = ""]) => [item, file, title] as const,
);

describe("project/bad-input.md", () => {
  it("has a row for each kind of bad input", () => {
    const numbered = (letter: string, last: number) => Array.from({ length: last }, (_, at) => `${letter}${at + 1}`);
    expect(rows.map(([item]) => item)).toEqual([
      ...numbered("B", 21),
      ...numbered("H", 43),
      ...numbered("N", 13),
      ...numbered("C", 20),
    ]);
  });

  it.each(rows)("names a test that exists for %s: %s", (_, file, title) => {
    expect(read(file)).toMatch(new RegExp(`${title.replaceAll(/[.*+?^${}()|[\]\\]/gu, "\\$&")}["\`]`));
  });
});
