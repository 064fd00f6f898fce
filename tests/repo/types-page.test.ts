import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseSync } from "oxc-parser";
import { describe, expect, it } from "vitest";
import { repositoryPath } from "./repository-path.ts";

const source = repositoryPath("src");

interface ExportedType {
  readonly name: string;
  readonly file: string;
}

describe("docs/types.md", () => {
  it("lists every type that an entry point exports, with the file that declares it", async () => {
    await expect(typesPage()).toMatchFileSnapshot(repositoryPath("docs/types.md"));
  });
});

function typesPage(): string {
  const entries = readdirSync(source).filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
  const sections = entries.sort(indexFirst).map((entry) => {
    const types = typesOf(join(source, entry)).sort((left, right) => (left.name < right.name ? -1 : 1));
    const rows = types.map(({ name, file }) => `| \`${name}\` | \`${file}\` |`);
    return [`## \`${entryName(entry)}\`\n`, "| type | file |", "|---|---|", ...rows, ""].join("\n");
  });
  const head = [
    "# Types\n",
    "The types that each entry point of the package exports, with the file that declares each. A test generates this page.",
    "[GLOSSARY.md](../GLOSSARY.md) explains the words, and the comments in the files explain the fields.\n",
  ].join("\n");
  return [head, ...sections].join("\n");
}

const entryName = (entry: string): string => (entry === "index.ts" ? "writ" : `writ/${entry.replace(/\.ts$/, "")}`);

function indexFirst(left: string, right: string): number {
  if (left === "index.ts" || right === "index.ts") return left === "index.ts" ? -1 : 1;
  return left < right ? -1 : 1;
}

/** The types and classes that a file exports, each with the file that declares it. */
function typesOf(path: string): ExportedType[] {
  return bodyOf(path).flatMap((node) => {
    if (node.type !== "ExportNamedDeclaration" || node.source === null) return [];
    const from = join(dirname(path), node.source.value);
    return node.specifiers.flatMap(({ exported, local }) => {
      const file = declaringFile(from, "name" in local ? local.name : local.value);
      return file === null ? [] : [{ name: "name" in exported ? exported.name : exported.value, file: relative(file) }];
    });
  });
}

/** The file that declares the type or class, or null if the name is a function or a constant. */
function declaringFile(path: string, name: string): string | null {
  for (const node of bodyOf(path)) {
    if (node.type !== "ExportNamedDeclaration") continue;
    const declared = node.declaration;
    if (declared !== null && "id" in declared && declared.id !== null && "name" in declared.id)
      if (declared.id.name === name) return /Interface|TypeAlias|Class/.test(declared.type) ? path : null;
    const passed = node.specifiers.find(({ exported }) => "name" in exported && exported.name === name);
    if (passed === undefined || node.source === null) continue;
    return declaringFile(
      join(dirname(path), node.source.value),
      "name" in passed.local ? passed.local.name : passed.local.value,
    );
  }
  return null;
}

const bodyOf = (path: string) => parseSync(path, readFileSync(path, "utf8")).program.body;

const relative = (path: string): string => `src${path.slice(source.length)}`;
