import { hash } from "node:crypto";
import { emptyTrieMap, type TreeSummary, type TrieMap } from "../../core/persistent/trie-map.ts";
import type { ResourceDifference } from "../../core/ports/resource.ts";
import type { Digest } from "../../core/values/ids.ts";
import type { TreePath } from "../tree-path.ts";

/** A directory as an immutable value. A change copies only the directories above it. */
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

export function memoryNodeAt(root: MemoryDirectory, path: TreePath): MemoryNode | null {
  let node: MemoryNode = root;
  for (const name of path) {
    const below: MemoryNode | undefined = node.kind === "directory" ? node.entries.get(name) : undefined;
    if (below === undefined) return null;
    node = below;
  }
  return node;
}

/**
 * Returns the tree with a node at a path replaced, or removed if the node is null. Creates missing parent directories.
 */
export function withMemoryNode(
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
  const below = withMemoryNode(
    found?.kind === "directory" ? found : { ...emptyDirectory, modifiedMs: now },
    rest,
    node,
    now,
  );
  const modifiedMs = found === undefined ? now : directory.modifiedMs;
  return { kind: "directory", entries: entries.set(name, below), modifiedMs };
}

const fileDigests = new WeakMap<MemoryNode, Digest>();

const listing: TreeSummary<readonly [string, MemoryNode], string> = {
  known: new WeakMap(),
  ofParts: (entries) => entries.map(([name, node]) => JSON.stringify([name, node.kind, memoryDigest(node)])).join("\n"),
  ofBranch: (lists) => hash("sha256", lists.join("\n")),
};

/** Returns the digest of names and contents. After a change, only the parts on its path are hashed again. */
export function memoryDigest(node: MemoryNode): Digest {
  if (node.kind === "directory") return hash("sha256", node.entries.summarize(listing) ?? "") as Digest;
  const found = fileDigests.get(node) ?? (hash("sha256", node.bytes) as Digest);
  fileDigests.set(node, found);
  return found;
}

/** Returns the differences between two trees. Skips the parts that both share. */
export function memoryChanges(from: MemoryDirectory, to: MemoryDirectory, above: TreePath = []): ResourceDifference[] {
  if (from === to) return [];
  const names = new Set([...from.entries, ...to.entries].map(([name]) => name));
  return [...names].sort().flatMap((name) => {
    const [left, right] = [from.entries.get(name), to.entries.get(name)];
    if (left === right) return [];
    const path = [...above, name];
    if (left?.kind === "directory" && right?.kind === "directory") return memoryChanges(left, right, path);
    if (left === undefined) return changesBelow(right, path, "added");
    if (right === undefined) return changesBelow(left, path, "removed");
    if (memoryDigest(left) === memoryDigest(right) && left.kind === right.kind) return [];
    const bytes = { before: sizeOf(left), after: sizeOf(right) };
    return [
      ...changesBelow(left, path, "removed").slice(1),
      { path: path.join("/"), change: "changed", bytes },
      ...changesBelow(right, path, "added").slice(1),
    ];
  });
}

/** Returns the changes of a node and of everything in it. */
function changesBelow(node: MemoryNode | undefined, path: TreePath, change: "added" | "removed"): ResourceDifference[] {
  if (node === undefined) return [];
  const size = sizeOf(node);
  const bytes = change === "added" ? { before: null, after: size } : { before: size, after: null };
  const inside = node.kind === "directory" ? [...node.entries] : [];
  return [
    { path: path.join("/"), change, bytes },
    ...inside
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .flatMap(([name, below]) => changesBelow(below, [...path, name], change)),
  ];
}

function sizeOf(node: MemoryNode): number | null {
  return node.kind === "file" ? node.bytes.length : null;
}
