import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { type Comment, parseSync } from "oxc-parser";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** A file of the repository; its path is relative to the root and uses forward slashes. */
export interface File {
  readonly path: string;
  readonly text: string;
}

const notOurs = new Set([
  ".git",
  "node_modules",
  "dist",
  "dist-bench",
  "dist-modules",
  "dist-sim",
  "coverage",
  ".stryker-tmp",
  "mutation",
]);

/** Every text file below a folder of the repository, or none when there is no such folder. */
export function filesBelow(folder: string): readonly File[] {
  const start = join(root, folder);
  return existsSync(start) ? walkFolder(start) : [];
}

function walkFolder(folder: string): readonly File[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return notOurs.has(entry.name) ? [] : walkFolder(path);
    if (!entry.isFile()) return [];
    const bytes = readFileSync(path);
    if (bytes.includes(0)) return [];
    return [{ path: relative(root, path).split(sep).join("/"), text: bytes.toString("utf8") }];
  });
}

export const isTest = (path: string): boolean => path.endsWith(".test.ts") || path.startsWith("tests/");
export const isCode = (path: string): boolean => /\.m?[jt]s$/.test(path);

/** A node of the syntax tree, as far as the rules of the house care. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

export interface Place {
  readonly node: Node;
  /** The node around it, and the field of that node it stands in. */
  readonly parent: Node | undefined;
  readonly field: string;
}

export interface Parsed {
  readonly places: readonly Place[];
  readonly body: readonly Node[];
  readonly comments: readonly Comment[];
}

const known = new WeakMap<File, Parsed>();

/** The syntax of a file, which every rule of the house reads again. */
export function parse(file: File): Parsed {
  const found = known.get(file) ?? parsed(file);
  known.set(file, found);
  return found;
}

function parsed({ path, text }: File): Parsed {
  const { program, comments, errors } = parseSync(path, text);
  if (errors[0] !== undefined) throw new Error(`${path} does not parse: ${errors[0].message}`);
  const tree: unknown = program;
  if (!isNode(tree)) throw new Error(`${path} has no syntax tree`);
  const places: Place[] = [];
  collect({ node: tree, parent: undefined, field: "" }, places);
  return { places, body: children(tree.body), comments };
}

function collect(place: Place, into: Place[]): void {
  into.push(place);
  for (const [field, value] of Object.entries(place.node)) {
    for (const node of children(value)) collect({ node, parent: place.node, field }, into);
  }
}

const children = (value: unknown): readonly Node[] => (Array.isArray(value) ? value : [value]).filter(isNode);

export function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

/** The name of an identifier, the text of a string literal, or nothing. */
export function textOf(value: unknown): string | undefined {
  if (!isNode(value)) return undefined;
  const text = value.type === "Literal" ? value.value : value.name;
  return typeof text === "string" ? text : undefined;
}
