import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { repositoryPath } from "./repository-path.ts";
import { isCode, readFilesIn } from "./source-files.ts";

const lineMax = 120;

const pages = readFilesIn(".").filter(({ path }) => path.endsWith(".md") && !/^(api|project)\//.test(path));
const records = readdirSync(repositoryPath("docs/adr")).filter((name) => name !== "README.md");
const read = (path: string) => readFileSync(repositoryPath(path), "utf8");

describe.each(pages)("$path", ({ path, text }) => {
  it(`has no line of prose above ${lineMax} characters`, () => {
    expect(longLines(text)).toEqual([]);
  });

  it("names only paths that exist", () => {
    expect(deadPaths(text, dirname(path))).toEqual([]);
  });
});

describe("the rules for pages", () => {
  it("find a long line, except in a table, a code block, a heading or around a link", () => {
    const long = "word ".repeat(30);
    expect(longLines(`${long}\n`)).toHaveLength(1);
    expect(longLines(`| ${long} |\n\`\`\`sh\n${long}\n\`\`\`\n[a](${"x".repeat(130)})\n`)).toEqual([]);
  });

  it("find a path that does not exist", () => {
    expect(deadPaths("see `src/core/nothing.ts` and `core/nothing.ts`", "docs")).toHaveLength(2);
    expect(deadPaths("see `src/index.ts`, `src/core/` and `limits.md`", "docs")).toEqual([]);
  });
});

/** A part of a page that a program writes, between its marks. */
const generated = /^<!-- (\w+): [\s\S]*?^<!-- end of \1 -->$/gm;

/** Lines of prose that are too long. A link cannot be broken, so the address of a link does not count. */
function longLines(text: string): readonly string[] {
  const prose = text
    .replaceAll(generated, "")
    .replaceAll(/^```[\s\S]*?^```$/gm, "")
    .split("\n");
  return prose.filter((line) => !/^\s*[|#]/.test(line) && line.replaceAll(/\]\([^)]*\)/g, "]").length > lineMax);
}

const topFolders = "src|tests|docs|project|bench|sim|crash|chaos|scripts|examples|api";
const modules = "core|policy|expression|schema|store|engine|resources|verifiers|testing|cli";

/** Paths in code type that lead nowhere: from the root, from `src`, or from the folder of the page. */
function deadPaths(text: string, folder: string): readonly string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, "");
  const named = [...prose.matchAll(/`([\w./-]+)`/g)].map(([, path]) => path as string);
  const paths = named.filter((path) =>
    new RegExp(`^(?:${topFolders}|${modules})/[\\w./-]+$|^[\\w/-]+\\.md$`).test(path),
  );
  return paths.filter((path) => !["", "src", folder].some((from) => existsSync(repositoryPath(from, path))));
}

describe("docs/design.md", () => {
  const headings = [...read("docs/design.md").matchAll(/^## (\d+)\. /gm)].map(([, number]) => Number(number));
  const citing = readFilesIn(".").filter(({ path }) => isCode(path) || path.endsWith(".md"));

  it("numbers its sections without a gap", () => {
    expect(headings).toEqual(headings.map((_, index) => index + 1));
  });

  it("has every section that the code and the pages cite", () => {
    const cited = citing.flatMap(({ text }) => [...text.matchAll(/\bdesign(?:\.md)?, section (\d+)/g)]);
    expect(cited.map(([, number]) => Number(number)).filter((number) => !headings.includes(number))).toEqual([]);
  });
});

describe("docs/adr/README.md", () => {
  const index = read("docs/adr/README.md");

  it.each(records)("lists %s under its title, with a status", (name) => {
    const [, number, title] = /^# (\d+)\. (.+)$/m.exec(read(`docs/adr/${name}`)) ?? [];
    const row = index.split("\n").find((line) => line.startsWith(`| ${number} | [${title}](${name}) | `));
    expect(row).toMatch(/\| (?:accepted|superseded)[^|]* \|$/);
  });

  it("lists nothing else", () => {
    expect(index.match(/^\| \d+ \|/gm)).toHaveLength(records.length);
  });
});

describe("GLOSSARY.md", () => {
  const entries = read("GLOSSARY.md")
    .trimEnd()
    .split(/\n(?=- |\n)/)
    .filter((block) => block.startsWith("- "));

  it("has the words that a user needs, and no more", () => {
    expect(entries.length).toBeGreaterThanOrEqual(25);
    expect(entries.length).toBeLessThanOrEqual(50);
  });

  it.each(entries)("explains in one sentence: %s", (entry) => {
    expect(entry.replaceAll(/\s+/g, " ")).toMatch(/^- \*\*[\w ]+\*\*(?:, \*\*[\w ]+\*\*)*: [^.]+\.$/);
  });
});
