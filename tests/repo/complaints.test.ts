import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { repositoryPath } from "./repository-path.ts";

const read = (path: string) => readFileSync(repositoryPath(path), "utf8");

const rows = [...read("project/complaints.md").matchAll(/^\| (C\d+) .+ \| .+ \| `([^`]+)`: "(.+)" \|$/gm)].map(
  ([, item = "", file = "", title = ""]) => [item, file, title] as const,
);

describe("project/complaints.md", () => {
  it("has a row for each complaint", () => {
    expect(rows.map(([item]) => item)).toEqual(Array.from({ length: 19 }, (_, at) => `C${at + 1}`));
  });

  it.each(rows)("names a test that exists for %s: %s", (_, file, title) => {
    expect(read(file)).toContain(`"${title}"`);
  });
});
