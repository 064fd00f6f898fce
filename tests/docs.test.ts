import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { faults } from "../src/core/fault.ts";
import { rooms } from "./rooms.ts";

const root = join(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const pages = ["README.md", "ARCHITECTURE.md", "GLOSSARY.md", "CONTRIBUTING.md", "CHANGELOG.md", ...markdownIn("docs")];

function markdownIn(folder: string): readonly string[] {
  const found = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  return found.filter((name) => name.endsWith(".md")).map((name) => join(folder, name));
}

describe("docs/errors.md", () => {
  it("has a heading for every fault, with what the table says of it", async () => {
    await expect(errorsPage()).toMatchFileSnapshot("../docs/errors.md");
  });
});

function errorsPage(): string {
  const sections = Object.entries(faults).map(([code, row]) => {
    const { tries, baseMs, capMs } = row as { tries: number; baseMs?: number; capMs?: number };
    const again =
      tries === 1
        ? "Not tried again by itself."
        : `Tried ${tries} times in all, waiting up to ${baseMs} ms, doubling, at most ${capMs} ms, with full jitter.`;
    return `## ${code}\n\n${sentence(row.about)} ${again} Exit code ${row.exit}.\n`;
  });
  const head =
    "# Faults\n\nEvery way something can go wrong. A fault is data: `{ code, message, detail? }`; its message says what, to which, and what now.\nAn act is only tried again when its tool has said that nothing happened.\n";
  return [head, ...sections].join("\n");
}

function sentence(text: string): string {
  return `${text[0]?.toUpperCase()}${text.slice(1)}.`;
}

describe("ARCHITECTURE.md", () => {
  it("shows the rooms as the architecture test enforces them", () => {
    const text = read("ARCHITECTURE.md");
    const rows = text.split("\n").filter((line) => line.startsWith("| `"));
    const expected = rooms.map(
      ({ name, about, rooms: reach }) =>
        `| \`${name}\` | ${about} | ${reach.map((room) => `\`${room}\``).join(", ") || "nothing"} |`,
    );
    expect(rows).toEqual(expected);
  });

  it("stays within 300 lines", () => {
    expect(read("ARCHITECTURE.md").split("\n").length).toBeLessThanOrEqual(300);
  });
});

describe("GLOSSARY.md", () => {
  it("has a line for every noun that core exports, and for nothing that is gone", () => {
    const defined = [...read("GLOSSARY.md").matchAll(/`([A-Z]\w+)`/g)].map(([, name]) => name);
    expect([...new Set(defined)].sort()).toEqual([...nounsOfCore()].sort());
  });
});

function nounsOfCore(): ReadonlySet<string> {
  const files = readdirSync(join(root, "src/core"), { recursive: true, encoding: "utf8" });
  const sources = files
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .map((name) => read(join("src/core", name)));
  return new Set(
    sources.flatMap((text) =>
      [...text.matchAll(/^export (?:interface|type|class) (\w+)/gm)].map(([, name]) => name as string),
    ),
  );
}

describe("docs/guarantees.md", () => {
  const kept = [...read("docs/guarantees.md").matchAll(/`([^`]+\.ts)`: "([^"]+)"/g)].map(([, file, title]) => [
    title as string,
    file as string,
  ]);

  it.each(kept)("names a test that exists: %s", (title, file) => {
    expect(read(file)).toContain(title);
  });

  it("names a test for every promise", () => {
    const promises = read("docs/guarantees.md")
      .split("\n")
      .filter((line) => /^\| [A-Z]/.test(line));
    expect(promises).toHaveLength(kept.length);
  });
});

describe("the pages", () => {
  it.each(pages)("%s links only to what exists", (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, target]) => target as string);
    const missing = links.filter((target) => !existsSync(join(root, dirname(page), target)));
    expect(missing).toEqual([]);
  });

  it.each(pages)("%s names only source files that exist", (page) => {
    const named = [...read(page).matchAll(/`((?:src|tests|docs|bench|sim|crash|scripts)\/[\w./-]+)`/g)].map(
      ([, path]) => path as string,
    );
    const rooms = [
      ...read(page).matchAll(/`?((?:core|engine|policy|store|schema|cli|verifiers)\/[\w./-]+\.ts)`?/g),
    ].map(([, path]) => `src/${path}`);
    expect([...named, ...rooms].filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});
