import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { repositoryPath } from "./repository-path.ts";

const read = (path: string) => readFileSync(repositoryPath(path), "utf8");
const page = read("project/open-run-rules.md");
const rows = [...page.matchAll(/^\| ([RI]\d.*?) \| (.+) \| `([^`]+)`: "(.+)" \|$/gm)].map(
  ([, rule = "", , file = "", title = ""]) => [rule, file, title] as const,
);

describe("project/open-run-rules.md", () => {
  it("has a row for each rule and each bad input", () => {
    expect(rows).toHaveLength(page.split("\n").filter((line) => /^\| [RI]\d/.test(line)).length);
    const named = new Set(rows.map(([rule]) => rule.split(" ")[0]));
    const numbered = (letter: string, last: number) => Array.from({ length: last }, (_, at) => `${letter}${at + 1}`);
    expect([...numbered("R", 15), ...numbered("I", 9)].filter((rule) => !named.has(rule))).toEqual([]);
  });

  it.each(rows)("names a test that exists for %s: %s", (_, file, title) => {
    expect(read(file)).toContain(`"${title}"`);
  });
});
