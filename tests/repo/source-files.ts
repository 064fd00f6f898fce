import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { type Comment, parseSync } from "oxc-parser";
import { repositoryPath, repositoryRoot } from "./repository-path.ts";

/** A file of the repository; its path is relative to the root and uses forward slashes. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

const ignoredFolders = new Set([
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

/** Returns every text file below a folder of the repository, or none if the folder does not exist. */
export function readFilesIn(folder: string): readonly SourceFile[] {
  const start = repositoryPath(folder);
  return existsSync(start) ? walkFolder(start) : [];
}

function walkFolder(folder: string): readonly SourceFile[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (ignoredFolders.has(entry.name)) return [];
    if (entry.isDirectory()) return walkFolder(path);
    if (!entry.isFile()) return [];
    const bytes = readFileSync(path);
    if (bytes.includes(0)) return [];
    return [{ path: relative(repositoryRoot, path).split(sep).join("/"), text: bytes.toString("utf8") }];
  });
}

export const isTest = (path: string): boolean => path.endsWith(".test.ts") || path.startsWith("tests/");
export const isCode = (path: string): boolean => /\.(?:m?[jt]s|tsx)$/.test(path);

/** A node of the syntax tree, with the fields that the rules read. */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

export interface SyntaxPosition {
  readonly node: SyntaxNode;
  /** The parent node, and the field of it that holds the node. */
  readonly parent: SyntaxNode | undefined;
  readonly field: string;
}

export interface SyntaxTree {
  readonly positions: readonly SyntaxPosition[];
  readonly body: readonly SyntaxNode[];
  readonly comments: readonly Comment[];
}

const parsedFiles = new WeakMap<SourceFile, SyntaxTree>();

/** Returns the syntax tree of a file, parsed once for all rules. */
export function parseSource(file: SourceFile): SyntaxTree {
  const found = parsedFiles.get(file) ?? buildSyntaxTree(file);
  parsedFiles.set(file, found);
  return found;
}

function buildSyntaxTree({ path, text }: SourceFile): SyntaxTree {
  const { program, comments, errors } = parseSync(path, text);
  if (errors[0] !== undefined) throw new Error(`${path} does not parse: ${errors[0].message}`);
  const tree: unknown = program;
  if (!isSyntaxNode(tree)) throw new Error(`${path} has no syntax tree`);
  const positions: SyntaxPosition[] = [];
  collect({ node: tree, parent: undefined, field: "" }, positions);
  return { positions, body: children(tree.body), comments };
}

function collect(position: SyntaxPosition, into: SyntaxPosition[]): void {
  into.push(position);
  for (const [field, value] of Object.entries(position.node)) {
    for (const node of children(value)) collect({ node, parent: position.node, field }, into);
  }
}

const children = (value: unknown): readonly SyntaxNode[] =>
  (Array.isArray(value) ? value : [value]).filter(isSyntaxNode);

export function isSyntaxNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

/** Returns the name of an identifier or the text of a string literal. */
export function nodeText(value: unknown): string | undefined {
  if (!isSyntaxNode(value)) return undefined;
  const text = value.type === "Literal" ? value.value : value.name;
  return typeof text === "string" ? text : undefined;
}

/** Returns the names that a file declares and exports. Names that it passes on from another file are not included. */
export function exportedNames(file: SourceFile): readonly string[] {
  return parseSource(file).body.flatMap((node) => {
    if (node.type !== "ExportNamedDeclaration" || isSyntaxNode(node.source)) return [];
    const declared = isSyntaxNode(node.declaration) ? node.declaration : undefined;
    const named = declared === undefined ? children(node.specifiers) : children(declared.declarations ?? declared);
    return named.flatMap(({ id, exported }) => nodeText(id ?? exported) ?? []);
  });
}
