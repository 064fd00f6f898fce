import { hash } from "node:crypto";
import type { Digest } from "../core/id.ts";
import { emptyTrieMap, type TrieMap } from "../core/persistent/trie-map.ts";
import type { ResourceChange } from "../core/resource.ts";
import type { TreePath } from "./tree-path.ts";

/** Files as one value. Every version stays valid; a change copies the directories above it, each along one short path. */
export interface MemoryDirectory {
  readonly kind: "directory";
  readonly entries: TrieMap<MemoryNode>;
  readonly modifiedMs: number;
}

interface MemoryFile {
  readonly kind: "file";
  readonly bytes: Uint8Array;
  readonly modifiedMs: number;
}

export type MemoryNode = MemoryDirectory | MemoryFile;

export const emptyDirectory: MemoryDirectory = { kind: "directory", entries: emptyTrieMap(), modifiedMs: 0 };

export function nodeAt(root: MemoryDirectory, path: TreePath): MemoryNode | null {
  let node: MemoryNode = root;
  for (const name of path) {
    const below: MemoryNode | undefined = node.kind === "directory" ? node.entries.get(name) : undefined;
    if (below === undefined) return null;
    node = below;
  }
  return node;
}

/** The tree with something else at a path; null: nothing. Directories above that are missing are made. */
export function withNode(
  directory: MemoryDirectory,
  path: TreePath,
  node: MemoryNode | null,
  now: number,
): MemoryDirectory {
  const [name, ...rest] = path;
  if (name === undefined) return node?.kind === "directory" ? node : directory;
  const { entries } = directory;
  if (rest.length === 0) {
    const changed = node === null ? entries.delete(name) : entries.set(name, node);
    return { kind: "directory", entries: changed, modifiedMs: now };
  }
  const found = entries.get(name);
  const below = withNode(found?.kind === "directory" ? found : { ...emptyDirectory, modifiedMs: now }, rest, node, now);
  const modifiedMs = found === undefined ? now : directory.modifiedMs;
  return { kind: "directory", entries: entries.set(name, below), modifiedMs };
}

const known = new WeakMap<MemoryNode, Digest>();

/** Of names and contents. A node that was hashed once is not hashed again. */
export function digestOf(node: MemoryNode): Digest {
  const found = known.get(node) ?? (hash("sha256", node.kind === "file" ? node.bytes : listing(node)) as Digest);
  known.set(node, found);
  return found;
}

function listing({ entries }: MemoryDirectory): string {
  const lines = [...entries].map(([name, node]) => JSON.stringify([name, node.kind, digestOf(node)]));
  return lines.sort().join("\n");
}

/** What is different between two trees; what they share is not looked at. */
export function memoryChanges(from: MemoryDirectory, to: MemoryDirectory, above: TreePath = []): ResourceChange[] {
  if (from === to) return [];
  const names = new Set([...from.entries, ...to.entries].map(([name]) => name));
  return [...names].sort().flatMap((name) => {
    const [left, right] = [from.entries.get(name), to.entries.get(name)];
    if (left === right) return [];
    const path = [...above, name];
    if (left?.kind === "directory" && right?.kind === "directory") return memoryChanges(left, right, path);
    if (left === undefined) return [{ path: path.join("/"), change: "added" }, ...inside(right, path, "added")];
    if (right === undefined) return [{ path: path.join("/"), change: "removed" }, ...inside(left, path, "removed")];
    if (digestOf(left) === digestOf(right) && left.kind === right.kind) return [];
    return [
      ...inside(left, path, "removed"),
      { path: path.join("/"), change: "changed" },
      ...inside(right, path, "added"),
    ];
  });
}

function inside(node: MemoryNode | undefined, path: TreePath, change: "added" | "removed"): ResourceChange[] {
  if (node?.kind !== "directory") return [];
  return [...node.entries]
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .flatMap(([name, below]) => [
      { path: [...path, name].join("/"), change },
      ...inside(below, [...path, name], change),
    ]);
}
