import { readdirSync, readFileSync } from "node:fs";
import { parseSync } from "oxc-parser";
import { describe, expect, it } from "vitest";
import { repositoryPath } from "./repository-path.ts";

/** Types of TypeScript and Node. */
const builtin = new Set([
  ..."AbortSignal AsyncIterable Error ErrorOptions Iterable Iterator Map Promise Readable ReadonlyArray ReadonlyMap ReadonlySet Set URL Uint8Array WeakMap Writable".split(
    " ",
  ),
  ..."Exclude Extract NonNullable Omit Parameters Partial Pick Readonly Record Required ReturnType".split(" "),
]);
/** Types of packages that the declarations import. */
const imported = new Set([
  "StandardSchemaV1",
  "StandardSchemaV1.InferInput",
  "StandardSchemaV1.InferOutput",
  "Meter",
  "Pool",
  "PoolConfig",
  "Server",
  "Tracer",
]);

/** Types that are private to their file and only shorten another type. */
const helpers = new Set(
  "Checkpoint Doubt GivenState Id Immutable InDoubt JsonSchema KeyOf OrJson PlannedFields Returned RunOf TimePassing".split(
    " ",
  ),
);

const entryPoints = readdirSync(repositoryPath("api")).map((file) => file.replace(/\.api\.md$/, ""));
const reports = new Map(entryPoints.map((name) => [name, declarationsOf(name)]));

describe("a type that an exported signature names", () => {
  it.each(entryPoints)("is exported by entry point %s, or by the main one", (name) => {
    expect(missingTypes(name)).toEqual([]);
  });

  it("would be missed", () => {
    expect(namedTypes("export interface A<T> { b: T; c: Promise<D>; e: (f: G) => H.I }")).toEqual(["D", "G", "H.I"]);
  });
});

function missingTypes(entryPoint: string): readonly string[] {
  const own = reports.get(entryPoint) ?? new Map();
  const exported = new Set([...own.keys(), ...(reports.get("index")?.keys() ?? [])]);
  const named = new Set([...own.values()].flatMap(namedTypes));
  return [...named].filter((name) => !exported.has(name) && !imported.has(name) && !helpers.has(name)).sort();
}

/** The declarations of an API report by name. */
function declarationsOf(entryPoint: string): ReadonlyMap<string, string> {
  const report = readFileSync(repositoryPath("api", `${entryPoint}.api.md`), "utf8");
  return new Map(
    [...report.matchAll(/^## (\w+)\n\n```ts\n([\s\S]*?)^```$/gm)].map(([, name = "", text = ""]) => [name, text]),
  );
}

/** The types that a declaration names, without its own type parameters. */
function namedTypes(text: string): readonly string[] {
  const { program } = parseSync("declaration.d.ts", text);
  const names: string[] = [];
  const parameters = new Set<string>();
  visit(program, (node) => {
    if (node.type === "TSTypeParameter") parameters.add(nameText(node.name));
    if (node.type === "TSMappedType") parameters.add(nameText(node.key));
    if (node.type === "TSTypeReference") names.push(nameText(node.typeName));
    if (node.type === "TSInterfaceHeritage" || node.type === "TSClassImplements") names.push(nameText(node.expression));
  });
  return [...new Set(names)].filter((name) => !parameters.has(name) && !builtin.has(name));
}

type Node = { readonly type: string; readonly [field: string]: unknown };

function visit(value: unknown, seen: (node: Node) => void): void {
  if (typeof value !== "object" || value === null) return;
  if ("type" in value && typeof value.type === "string") seen(value as Node);
  for (const child of Object.values(value)) visit(child, seen);
}

function nameText(name: unknown): string {
  const node = name as { readonly name?: string; readonly left?: unknown; readonly right?: unknown };
  return node.name ?? `${nameText(node.left)}.${nameText(node.right)}`;
}
