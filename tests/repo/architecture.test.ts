import { isBuiltin } from "node:module";
import { posix } from "node:path";
import { describe, expect, it } from "vitest";
import { findCycles } from "../../src/core/plan/step-graph.ts";
import { entryPoint, layerOf, layerRules, moduleOf, moduleRules } from "./module-rules.ts";
import { isTest, nodeText, parseSource, readFilesIn, type SourceFile, type SyntaxPosition } from "./source-files.ts";

const source = readFilesIn("src").filter(({ path }) => path.endsWith(".ts") && !isTest(path));
// Parsed before the first test starts: on a busy machine parsing takes longer than the time limit of a test.
source.forEach(parseSource);

describe("module rules", () => {
  it("cover every source file", () => {
    expect(source.filter(({ path }) => moduleOf(belowSource(path)) === undefined).map(({ path }) => path)).toEqual([]);
  });

  it("allow every import of the source tree", () => {
    expect(source.flatMap(forbiddenImports)).toEqual([]);
  });

  it("name only modules of the table, and never testing", () => {
    const names = moduleRules.map(({ name }) => name);
    const imported = moduleRules.flatMap(({ modules }) => modules);
    expect(imported.filter((name) => !names.includes(name) || name === "testing")).toEqual([]);
  });

  it.each([
    ["an import of policy in core", "src/core/run/run.ts", `import type { Role } from "../../policy/role.ts";`],
    ["a re-export from another module", "src/policy/role.ts", `export { perform } from "../engine/perform.ts";`],
    ["an inline import type", "src/core/run/run.ts", `type Role = import("../../policy/role.ts").Role;`],
    ["a lazy import", "src/worker/timers.ts", `const load = () => import("../store/memory/memory-store.ts");`],
    ["an import of another store", "src/store/sqlite/a.ts", `import { a } from "../memory/memory-store.ts";`],
    ["an import of an entry point", "src/cli/main.ts", `import { engine } from "../index.ts";`],
    ["an import of testing in production code", "src/cli/main.ts", `import { clock } from "../testing/clock.ts";`],
    ["a package in the engine", "src/engine/engine.ts", `import { Ajv } from "ajv/dist/2020.js";`],
    ["a package of another module", "src/schema/ajv.ts", `import { Command } from "commander";`],
    ["a Node module in core", "src/core/values/ids.ts", `import { createHash } from "node:crypto";`],
    ["a Node module without its prefix", "src/engine/engine.ts", `import { readFileSync } from "fs";`],
    ["an import with a computed path", "src/cli/main.ts", "const load = (name: string) => import(name);"],
    ["require", "src/cli/main.ts", `const fs = require("node:fs");`],
  ])("would catch %s", (_, path, text) => {
    expect(forbiddenImports({ path, text })).toHaveLength(1);
  });

  it.each([
    ["its own folder", "src/core/run/run.ts", `import { at } from "./clock.ts";`],
    ["another folder of its module", "src/policy/rules/a.ts", `import { role } from "../role.ts";`],
    ["a listed module", "src/engine/engine.ts", `import { decide } from "../core/decide.ts";`],
    ["a listed package, by a subpath", "src/schema/a.ts", `import { fullFormats } from "ajv-formats/dist/formats.js";`],
    ["any module, from an entry point", "src/testing.ts", `export { clock } from "./testing/fake-clock.ts";`],
    ["node:crypto, from the engine", "src/engine/key.ts", `import { createHash } from "node:crypto";`],
  ])("allow a file to import %s", (_, path, text) => {
    expect(forbiddenImports({ path, text })).toEqual([]);
  });
});

describe("layer rules", () => {
  it("cover every file of core, and every folder of engine", () => {
    const layered = source.filter(({ path }) => /^src\/(?:core\/|engine\/.*\/)/.test(path));
    expect(layered.filter(({ path }) => layerOf(belowSource(path)) === undefined).map(({ path }) => path)).toEqual([]);
  });

  it("name only folders with files", () => {
    const folders = layerRules.flatMap((layer) => layer.folders);
    expect(folders.filter((folder) => !source.some(({ path }) => path.startsWith(`src/${folder}/`)))).toEqual([]);
  });

  it("allow every import of the source tree", () => {
    expect(source.flatMap(backwardImports)).toEqual([]);
  });

  it.each([
    ["a backward import in core", "src/core/run/run.ts", `import { decide } from "../decide/decide.ts";`],
    [
      "a backward import in engine",
      "src/engine/journal/a.ts",
      `import { submitRun } from "../messages/submit-run.ts";`,
    ],
    ["a backward type import", "src/engine/api/a.ts", `import type { Rules } from "../rules/tenant-rules.ts";`],
    ["a backward inline import type", "src/core/store/a.ts", `type Run = import("../run/run.ts").Run;`],
    ["a backward re-export", "src/core/values/ids.ts", `export type { Tool } from "../tool/tool.ts";`],
    ["an import of the same layer", "src/core/json/a.ts", `import type { Clock } from "../ports/clock.ts";`],
    ["a backward import in a nested folder", "src/engine/call/a/b.ts", `import { c } from "../../admin/audit/c.ts";`],
    ["an import of the composition root", "src/engine/admin/a.ts", `import { makePorts } from "../make-ports.ts";`],
    ["a type import of the composition root", "src/engine/admin/a.ts", `import type { A } from "../run-handle.ts";`],
  ])("would catch %s", (_, path, text) => {
    expect(backwardImports({ path, text })).toHaveLength(1);
  });

  it.each([
    ["an earlier folder", "src/engine/call/a.ts", `import { load } from "../journal/load-run.ts";`],
    ["its own folder", "src/engine/admin/a.ts", `import { audit } from "./audit/audit-journals.ts";`],
    [
      "a later folder, from the composition root",
      "src/engine/engine.ts",
      `import { undo } from "./admin/undo-run.ts";`,
    ],
    ["any folder of another module", "src/engine/ports/a.ts", `import { decide } from "../../core/decide/decide.ts";`],
    ["an engine, from another module", "src/cli/a.ts", `import { createEngine } from "../engine/engine.ts";`],
  ])("allow a file to import %s", (_, path, text) => {
    expect(backwardImports({ path, text })).toEqual([]);
  });
});

describe("source files", () => {
  it("never import each other in a cycle, type imports included", () => {
    expect(importCycles(source, (path) => path)).toEqual([]);
  });

  it("would be caught in a cycle", () => {
    const files = [
      { path: "src/core/a.ts", text: `import type { B } from "./decide/b.ts";` },
      { path: "src/core/decide/b.ts", text: `export { c } from "../c.ts";` },
      { path: "src/core/c.ts", text: `import { a } from "./a.ts";` },
    ];
    expect(importCycles(files, (path) => path)).toHaveLength(1);
    expect(importCycles(files.slice(1), (path) => path)).toEqual([]);
  });
});

describe("folders", () => {
  it("never import each other in a cycle, type imports included", () => {
    expect(importCycles(source, folderOf)).toEqual([]);
  });

  it("would be caught in a cycle, though their files are in none", () => {
    const files = [
      { path: "src/policy/rules/a.ts", text: `import type { B } from "../parser/b.ts";` },
      { path: "src/policy/parser/b.ts", text: "export type B = 1;" },
      { path: "src/policy/parser/c.ts", text: `import { d } from "../rules/d.ts";` },
      { path: "src/policy/rules/d.ts", text: "export const d = 1;" },
    ];
    expect(importCycles(files, (path) => path)).toEqual([]);
    expect(importCycles(files, folderOf)).toHaveLength(1);
  });

  it("may use files in the root of their module, whose other files may use them", () => {
    const files = [
      { path: "src/cli/program.ts", text: `import { show } from "./commands/show.ts";` },
      { path: "src/cli/commands/show.ts", text: `import { table } from "../table.ts";` },
      { path: "src/cli/table.ts", text: "export const table = 1;" },
    ];
    expect(importCycles(files, folderOf)).toEqual([]);
  });
});

describe("pure modules", () => {
  it("use no clock, randomness, timers or process", () => {
    expect(source.filter(({ path }) => /^src\/(core|policy|expression)\//.test(path)).flatMap(impurities)).toEqual([]);
  });

  it("create no promises in core, though its ports may return them", () => {
    expect(source.filter(({ path }) => path.startsWith("src/core/")).flatMap(promises)).toEqual([]);
  });

  it.each([
    "const now = Date.now();",
    "export type At = Date;",
    "const dice = Math.random();",
    `const dice = Math["random"]();`,
    "const { random } = Math;",
    "const id = crypto.randomUUID();",
    "setTimeout(() => 1, 5);",
    "const home = process.env;",
    "const clock = globalThis;",
    `const where = import.meta.url;`,
  ])("would catch %s", (text) => {
    expect(impurities({ path: "src/core/a.ts", text })).not.toEqual([]);
  });

  it.each([
    "export interface Step { readonly process: string }",
    "const name = step.process;",
    `const fault = "the process died at that Date"; // no Date here`,
    "const most = Math.max(1, 2);",
  ])("allow %s", (text) => {
    expect(impurities({ path: "src/core/a.ts", text })).toEqual([]);
  });

  it.each([
    "export async function load() {}",
    "const load = async () => 1;",
    "const one = new Promise(() => {});",
    "const one = Promise.resolve(1);",
    "export function each() { return one.then(two); }",
    "export const one = await two;",
  ])("would catch %s in core", (text) => {
    expect(promises({ path: "src/core/a.ts", text })).not.toEqual([]);
  });

  it("allow a port in core to return a promise", () => {
    expect(promises({ path: "src/core/a.ts", text: "export interface Store { load(): Promise<Run>; }" })).toEqual([]);
  });
});

const belowSource = (path: string): string => path.slice("src/".length);

/** The imports of a file that its module does not allow. */
function forbiddenImports(file: SourceFile): readonly string[] {
  return parseSource(file)
    .positions.flatMap(importsOf)
    .filter((target) => !isAllowed(file.path, target))
    .map((target) => `${file.path} imports ${target}`);
}

/** The imports of a file in a layered folder that are not in an earlier layer of its module, nor in its own folder. */
function backwardImports(file: SourceFile): readonly string[] {
  const own = layerOf(belowSource(file.path));
  if (own === undefined) return [];
  const module = moduleOf(belowSource(file.path));
  return importedFiles(file)
    .filter((path) => moduleOf(belowSource(path)) === module)
    .filter((path) => {
      const other = layerOf(belowSource(path));
      return other === undefined || (other.folder !== own.folder && other.height >= own.height);
    })
    .map((path) => `${file.path} imports ${path}`);
}

/** The groups of files that import each other in a cycle. Imports inside a group do not count, unless each file is a group. */
function importCycles(files: readonly SourceFile[], groupOf: (path: string) => string): readonly (readonly string[])[] {
  const groups = [...new Set(files.map(({ path }) => groupOf(path)))];
  const index = new Map(groups.map((group, at) => [group, at]));
  const imports: Set<number>[] = groups.map(() => new Set());
  for (const file of files)
    for (const path of importedFiles(file)) {
      const from = groupOf(file.path);
      const to = groupOf(path);
      if (from !== to) imports[index.get(from) as number]?.add(index.get(to) ?? -1);
    }
  const known = imports.map((targets) => [...targets].filter((target) => target >= 0));
  return findCycles(known).map((cycle) => cycle.map((at) => groups[at] as string));
}

/**
 * The folder of a file. A file in the root of a module is its own folder: a module keeps its shared nouns there, beside the file
 * that puts its folders together.
 */
function folderOf(path: string): string {
  const folder = posix.dirname(path);
  return folder === "src" || moduleRules.some(({ name }) => folder === `src/${name}`) ? path : folder;
}

/** The files of the repository that a file imports. */
function importedFiles(file: SourceFile): readonly string[] {
  const targets = parseSource(file).positions.flatMap(importsOf);
  return targets
    .filter((target) => target.startsWith("."))
    .map((target) => posix.join(posix.dirname(file.path), target));
}

/** The targets that a node imports, by any form of import, re-export, import type and require. */
function importsOf({ node }: SyntaxPosition): readonly string[] {
  switch (node.type) {
    case "ImportDeclaration":
    case "ExportAllDeclaration":
    case "ImportExpression":
    case "TSImportType":
      return [nodeText(node.source) ?? computedPath];
    case "ExportNamedDeclaration":
      return node.source === null ? [] : [nodeText(node.source) ?? computedPath];
    case "TSExternalModuleReference":
      return ["require"];
    case "CallExpression":
      return nodeText(node.callee) === "require" ? ["require"] : [];
    default:
      return [];
  }
}

const computedPath = "a computed path";

function isAllowed(path: string, target: string): boolean {
  // The configuration file of a user is the one import whose path is only known at run time.
  if (target === computedPath) return path === "src/cli/config.ts";
  const module = moduleOf(belowSource(path));
  const rule = moduleRules.find(({ name }) => name === module);
  if (target.startsWith(".")) {
    const imported = posix.join(posix.dirname(path), target);
    if (!imported.startsWith("src/")) return false;
    const other = moduleOf(belowSource(imported));
    if (other === undefined || other === entryPoint) return false;
    return module === entryPoint || other === module || rule?.modules.includes(other) === true;
  }
  if (target.startsWith("node:")) return rule?.node === "any" || rule?.node.includes(target) === true;
  if (isBuiltin(target)) return false;
  const name = target.split("/", target.startsWith("@") ? 2 : 1).join("/");
  return rule?.packages.includes(name) === true;
}

const impureGlobals = new Set([
  ..."Date performance process crypto randomUUID globalThis global Buffer console fetch require Temporal".split(" "),
  ..."setTimeout setInterval setImmediate queueMicrotask clearTimeout clearInterval".split(" "),
]);

/** The uses of clocks, randomness and the machine in a file. Property names and texts do not count. */
function impurities(file: SourceFile): readonly string[] {
  return parseSource(file).positions.flatMap((position) => {
    const { node, parent } = position;
    const name = node.type === "Identifier" ? nodeText(node) : undefined;
    const found =
      node.type === "MetaProperty" ||
      (name !== undefined && impureGlobals.has(name) && !isPropertyName(position)) ||
      (name === "Math" && !(parent?.type === "MemberExpression" && !isRandom(parent)));
    return found ? [`${file.path}: ${name ?? "import.meta"}`] : [];
  });
}

const isRandom = (member: SyntaxPosition["node"]): boolean =>
  member.computed === true || nodeText(member.property) === "random";

function isPropertyName({ parent, field, node }: SyntaxPosition): boolean {
  if (parent === undefined || parent.computed === true || nodeText(node) === "randomUUID") return false;
  if (field === "property") return parent.type === "MemberExpression";
  return field === "key" && parent.shorthand !== true;
}

/** The places where a file makes or awaits a promise. The name of the type alone does not count. */
function promises(file: SourceFile): readonly string[] {
  return parseSource(file).positions.flatMap(({ node, parent, field }) => {
    const found =
      node.async === true ||
      node.type === "AwaitExpression" ||
      (node.type === "Identifier" && node.name === "Promise" && parent?.type !== "TSTypeReference") ||
      (node.type === "Identifier" && node.name === "then" && field === "property");
    return found ? [`${file.path}: ${node.type} at ${node.start}`] : [];
  });
}
