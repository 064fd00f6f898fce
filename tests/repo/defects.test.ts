import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { repositoryPath } from "./repository-path.ts";

const read = (path: string) => readFileSync(repositoryPath(path), "utf8");

const rows = [...read("project/defects.md").matchAll(/^\| ([FBDXNP]\d.*?) \| (.+) \| `([^`]+)`: "(.+)" \|$/gm)].map(
  ([, item = "", , file = "", title = ""]) => [item, file, title] as const,
);

describe("project/defects.md", () => {
  it("has a row for each defect", () => {
    const table = read("project/defects.md")
      .split("\n")
      .filter((line) => /^\| [FBDXNP]\d/.test(line));
    expect(rows).toHaveLength(table.length);
    const named = new Set(rows.map(([item]) => item.split(/[ ,]/)[0]));
    const numbered = (letter: string, last: number) => Array.from({ length: last }, (_, at) => `${letter}${at + 1}`);
    const expected = [
      ...numbered("F", 10),
      ...numbered("D", 27),
      ...numbered("X", 20),
      ...numbered("N", 7),
      ...numbered("P", 17),
    ];
    // D13 shares the row of D12.
    expect(expected.filter((item) => !named.has(item))).toEqual(["D13"]);
  });

  it.each(rows)("names a test that exists for %s: %s", (_, file, title) => {
    expect(read(file)).toContain(`"${title}"`);
  });
});

describe("the dependencies", () => {
  interface Locked {
    readonly dev?: true;
    readonly optional?: true;
    readonly peer?: true;
    readonly hasInstallScript?: true;
    readonly deprecated?: string;
  }

  const { packages } = JSON.parse(read("package-lock.json")) as {
    readonly packages: Readonly<Record<string, Locked>>;
  };

  it("are not deprecated, so that their installation prints no warning", () => {
    const deprecated = Object.entries(packages).filter(([, locked]) => locked.deprecated !== undefined);
    expect(deprecated.map(([name]) => name)).toEqual([]);
  });

  it("of the package run no script at install", () => {
    const running = Object.entries(packages).filter(
      ([name, { dev, hasInstallScript }]) => name !== "" && !dev && hasInstallScript,
    );
    expect(running.map(([name]) => name)).toEqual([]);
  });
});

describe("docs/files.md", () => {
  it("says what files left open and hard links outside the tree can do", () => {
    const page = read("docs/files.md");
    expect(page).toContain("A file that the worker's own process still has open after its call is not detected");
    expect(page).toContain("A hard link that a raw call made outside the tree stays when the call fails");
  });
});
