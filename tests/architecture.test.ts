import { isBuiltin } from "node:module";
import { posix } from "node:path";
import { describe, expect, it } from "vitest";
import { cycles } from "../src/core/plan/plan-graph.ts";
import { door, roomOf, rooms } from "./rooms.ts";
import { type File, filesBelow, isTest, type Place, parse, textOf } from "./source.ts";

const source = filesBelow("src").filter(({ path }) => path.endsWith(".ts") && !isTest(path));
// Once, before the time of any test begins: on a busy machine it takes longer than one test may.
source.forEach(parse);

describe("the rooms", () => {
  it("house every source file", () => {
    expect(source.filter(({ path }) => roomOf(below(path)) === undefined).map(({ path }) => path)).toEqual([]);
  });

  it("import only what their line in the table allows", () => {
    expect(source.flatMap(trespasses)).toEqual([]);
  });

  it("name only rooms that exist in the table, and never testing", () => {
    const names = rooms.map(({ name }) => name);
    expect(rooms.flatMap((room) => room.rooms).filter((name) => !names.includes(name) || name === "testing")).toEqual(
      [],
    );
  });

  it.each([
    ["core reaching for policy", "src/core/run.ts", `import type { Role } from "../policy/role.ts";`],
    ["a re-export across rooms", "src/policy/role.ts", `export { perform } from "../engine/perform.ts";`],
    ["a type imported in place", "src/core/run.ts", `type Role = import("../policy/role.ts").Role;`],
    ["a lazy import", "src/worker/timers.ts", `const load = () => import("../store/memory/memory-store.ts");`],
    ["one store reaching for another", "src/store/sqlite/a.ts", `import { a } from "../memory/memory-store.ts";`],
    ["a room reaching for a door", "src/cli/main.ts", `import { engine } from "../index.ts";`],
    ["production reaching for testing", "src/cli/main.ts", `import { clock } from "../testing/clock.ts";`],
    ["a package in the middle", "src/engine/engine.ts", `import { Ajv } from "ajv/dist/2020.js";`],
    ["another room's package", "src/schema/ajv.ts", `import { Command } from "commander";`],
    ["Node in the core", "src/core/id.ts", `import { createHash } from "node:crypto";`],
    ["Node by its bare name", "src/engine/engine.ts", `import { readFileSync } from "fs";`],
    ["an import that only a run can resolve", "src/cli/main.ts", "const load = (name: string) => import(name);"],
    ["require", "src/cli/main.ts", `const fs = require("node:fs");`],
  ])("would catch %s", (_, path, text) => {
    expect(trespasses({ path, text })).toHaveLength(1);
  });

  it.each([
    ["its own room", "src/core/run.ts", `import { at } from "./clock.ts";`],
    ["a deeper folder of its own room", "src/core/decide/commit.ts", `import { run } from "../run.ts";`],
    ["a listed room", "src/engine/engine.ts", `import { decide } from "../core/decide.ts";`],
    ["a listed package, by a subpath", "src/schema/a.ts", `import { fullFormats } from "ajv-formats/dist/formats.js";`],
    ["any room, from a door", "src/testing.ts", `export { clock } from "./testing/clock.ts";`],
    ["node:crypto, from the engine", "src/engine/key.ts", `import { createHash } from "node:crypto";`],
  ])("lets a file import %s", (_, path, text) => {
    expect(trespasses({ path, text })).toEqual([]);
  });
});

describe("the files", () => {
  const circles = (files: readonly File[]): readonly (readonly string[])[] => {
    const at = new Map(files.map(({ path }, index) => [path, index]));
    const needs = files.map((file) =>
      reachedBy(file)
        .map((path) => at.get(path))
        .filter((index) => index !== undefined),
    );
    return cycles(needs).map((cycle) => cycle.map((index) => (files[index] as File).path));
  };

  it("never import each other in a circle, not even for a type", () => {
    expect(circles(source)).toEqual([]);
  });

  it("would be caught at it", () => {
    const files = [
      { path: "src/core/a.ts", text: `import type { B } from "./decide/b.ts";` },
      { path: "src/core/decide/b.ts", text: `export { c } from "../c.ts";` },
      { path: "src/core/c.ts", text: `import { a } from "./a.ts";` },
    ];
    expect(circles(files)).toHaveLength(1);
    expect(circles(files.slice(1))).toEqual([]);
  });
});

describe("the pure rooms", () => {
  it("know no clock, no dice, no timers and no process", () => {
    expect(source.filter(({ path }) => /^src\/(core|policy|expression)\//.test(path)).flatMap(impurities)).toEqual([]);
  });

  it("make no promises in core, though its ports may speak of them", () => {
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
  ])("lets %s pass", (text) => {
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

  it("lets a port in core answer with a promise", () => {
    expect(promises({ path: "src/core/a.ts", text: "export interface Store { load(): Promise<Run>; }" })).toEqual([]);
  });
});

const below = (path: string): string => path.slice("src/".length);

/** The imports of a file that its room does not allow. */
function trespasses(file: File): readonly string[] {
  return parse(file)
    .places.flatMap(importedBy)
    .filter((target) => !allowed(file.path, target))
    .map((target) => `${file.path} reaches for ${target}`);
}

/** The files of ours that a file imports. */
function reachedBy(file: File): readonly string[] {
  const targets = parse(file).places.flatMap(importedBy);
  return targets
    .filter((target) => target.startsWith("."))
    .map((target) => posix.join(posix.dirname(file.path), target));
}

/** What a node imports: every form of import, re-export, import type and require. */
function importedBy({ node }: Place): readonly string[] {
  switch (node.type) {
    case "ImportDeclaration":
    case "ExportAllDeclaration":
    case "ImportExpression":
    case "TSImportType":
      return [textOf(node.source) ?? "something computed"];
    case "ExportNamedDeclaration":
      return node.source === null ? [] : [textOf(node.source) ?? "something computed"];
    case "TSExternalModuleReference":
      return ["require"];
    case "CallExpression":
      return textOf(node.callee) === "require" ? ["require"] : [];
    default:
      return [];
  }
}

function allowed(path: string, target: string): boolean {
  // The user's config is the one thing that only a run can name.
  if (target === "something computed") return path === "src/cli/config.ts";
  const home = roomOf(below(path));
  const room = rooms.find(({ name }) => name === home);
  if (target.startsWith(".")) {
    const reached = posix.join(posix.dirname(path), target);
    if (!reached.startsWith("src/")) return false;
    const there = roomOf(below(reached));
    if (there === undefined || there === door) return false;
    return home === door || there === home || room?.rooms.includes(there) === true;
  }
  if (target.startsWith("node:")) return room?.node === "any" || room?.node.includes(target) === true;
  if (isBuiltin(target)) return false;
  const name = target.split("/", target.startsWith("@") ? 2 : 1).join("/");
  return room?.packages.includes(name) === true;
}

const worldly = new Set([
  ..."Date performance process crypto randomUUID globalThis global Buffer console fetch require Temporal".split(" "),
  ..."setTimeout setInterval setImmediate queueMicrotask clearTimeout clearInterval".split(" "),
]);

/** Where a file touches time, chance or the machine. Property names and prose do not count. */
function impurities(file: File): readonly string[] {
  return parse(file).places.flatMap((place) => {
    const { node, parent } = place;
    const name = node.type === "Identifier" ? textOf(node) : undefined;
    const found =
      node.type === "MetaProperty" ||
      (name !== undefined && worldly.has(name) && !isPropertyName(place)) ||
      (name === "Math" && !(parent?.type === "MemberExpression" && !isRandom(parent)));
    return found ? [`${file.path}: ${name ?? "import.meta"}`] : [];
  });
}

const isRandom = (member: Place["node"]): boolean => member.computed === true || textOf(member.property) === "random";

function isPropertyName({ parent, field, node }: Place): boolean {
  if (parent === undefined || parent.computed === true || textOf(node) === "randomUUID") return false;
  if (field === "property") return parent.type === "MemberExpression";
  return field === "key" && parent.shorthand !== true;
}

/** Where a file makes or awaits a promise; naming the type is no promise made. */
function promises(file: File): readonly string[] {
  return parse(file).places.flatMap(({ node, parent, field }) => {
    const found =
      node.async === true ||
      node.type === "AwaitExpression" ||
      (node.type === "Identifier" && node.name === "Promise" && parent?.type !== "TSTypeReference") ||
      (node.type === "Identifier" && node.name === "then" && field === "property");
    return found ? [`${file.path}: ${node.type} at ${node.start}`] : [];
  });
}
