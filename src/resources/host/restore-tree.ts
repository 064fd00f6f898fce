import type { ResourceChange } from "../../core/ports/resource.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Digest } from "../../core/values/ids.ts";
import { printablePath, type TreePath } from "../tree-path.ts";
import type { ObjectStore } from "./object-store.ts";
import { type DirectoryNode, type FileNode, sameMetadata, type TreeNode } from "./tree-node.ts";
import type { TouchedPaths, TreeScan, TreeWalker } from "./tree-walker.ts";
import type { TreeWriter } from "./tree-writer.ts";

/** A path at which two trees differ. `from` or `to` is null if the entry exists only in the other tree. */
export interface TreeDifference {
  readonly path: TreePath;
  readonly from: TreeNode | null;
  readonly to: TreeNode | null;
}

/** Returns every path at which two trees differ, parents first. Skips subtrees with equal digests. */
export function compareTrees(from: DirectoryNode, to: DirectoryNode, above: TreePath = []): TreeDifference[] {
  if (from === to || (from.digest !== null && from.digest === to.digest && sameMetadata(from, to))) return [];
  const differences: TreeDifference[] = sameMetadata(from, to) ? [] : [{ path: above, from, to }];
  if (from.children === to.children || (from.digest !== null && from.digest === to.digest)) return differences;
  for (const [name, left] of from.children) {
    const right = to.children.get(name);
    const path = [...above, name];
    if (right === undefined) differences.push({ path, from: left, to: null });
    else if (left.kind === "directory" && right.kind === "directory")
      differences.push(...compareTrees(left, right, path));
    else if (!isEqual(left, right)) differences.push({ path, from: left, to: right });
  }
  for (const [name, right] of to.children) {
    if (!from.children.has(name)) differences.push({ path: [...above, name], from: null, to: right });
  }
  return differences;
}

/**
 * Converts differences to the form of the journal: sorted by path, with every entry below an added or removed
 * directory.
 */
export function toResourceChanges(differences: readonly TreeDifference[]): readonly ResourceChange[] {
  const changes = differences.flatMap(({ path, from, to }) => {
    if (from === null) return changesBelow(path, to, "added");
    if (to === null) return changesBelow(path, from, "removed");
    // Only the modification time differs, which follows from the changes inside the directory.
    if (from.kind === "directory" && to.kind === "directory" && from.mode === to.mode) return [];
    return [{ path: path.join("/"), change: "changed" as const }];
  });
  return changes.sort((left, right) => (left.path < right.path ? -1 : 1));
}

function changesBelow(path: TreePath, node: TreeNode | null, change: "added" | "removed"): ResourceChange[] {
  const inside = node?.kind === "directory" ? [...node.children] : [];
  return [
    { path: path.join("/"), change },
    ...inside.flatMap(([name, child]) => changesBelow([...path, name], child, change)),
  ];
}

export interface RestoreTreeOptions {
  readonly walker: TreeWalker;
  readonly objects: ObjectStore;
  readonly writer: TreeWriter;
}

/** Restores a tree. Writes only the paths that differ, then scans the tree and compares its digest. */
export async function restoreTree(
  options: RestoreTreeOptions,
  now: TreeScan,
  wanted: DirectoryNode,
  digest: Digest,
): Promise<{ readonly scan: TreeScan; readonly changed: number }> {
  const { walker, writer } = options;
  const differences = compareTrees(now.root, wanted);
  for (const { from, to } of differences) assertContentsStored(options, from, to);
  // Removals first, because a new entry may need the same path.
  for (const { path, from, to } of differences)
    if (from !== null && (to === null || from.kind !== to.kind)) writer.remove(path);
  const hardLinks: (() => void)[] = [];
  for (const { path, from, to } of differences) if (to !== null) restoreNode(options, path, from, to, hardLinks);
  for (const work of hardLinks) work();
  for (const [path, node] of directoriesAbove(differences, wanted)) writer.setMetadata(path, node);
  writer.sync();
  // Hard links can be compared only in a full scan.
  const only = differences.some(({ from, to }) => isLinked(from) || isLinked(to)) ? null : touchedPaths(differences);
  const after = await walker.scan("hash", now.root, only);
  if (after.digest !== digest)
    throw new FaultError(
      fault(
        "RESTORE_FAILED",
        `after the restore the digest of the tree is ${after.digest}, expected ${digest}`,
        describeDifference(after.root, wanted),
      ),
    );
  return { scan: after, changed: differences.length };
}

function describeDifference(now: DirectoryNode, wanted: DirectoryNode): { readonly differs: readonly string[] } {
  return {
    differs: compareTrees(now, wanted)
      .slice(0, 20)
      .map(({ path }) => printablePath(path.join("/"))),
  };
}

function isLinked(node: TreeNode | null): boolean {
  if (node?.kind === "directory") return [...node.children.values()].some(isLinked);
  return node?.kind === "file" && (node.nlink > 1 || node.linkOf !== null);
}

/** Throws, before anything is changed, if a content that the restore needs is missing or damaged. */
function assertContentsStored(options: RestoreTreeOptions, from: TreeNode | null, to: TreeNode | null): void {
  const isThere = canRewriteInPlace(from, to) && to?.kind === "file" && from.digest === to.digest;
  if (to?.kind === "file" && to.linkOf === null && !isThere) options.objects.verify(to.digest);
  // The entries of an existing directory have their own differences.
  if (to?.kind === "directory" && from?.kind !== "directory")
    for (const child of to.children.values()) assertContentsStored(options, null, child);
}

function restoreNode(
  options: RestoreTreeOptions,
  path: TreePath,
  from: TreeNode | null,
  to: TreeNode,
  hardLinks: (() => void)[],
): void {
  const { writer } = options;
  const { linkOf } = to.kind === "file" ? to : { linkOf: null };
  if (to.kind === "other")
    throw new FaultError(
      fault("RESTORE_FAILED", `${printablePath(path.join("/"))} was ${to.what}, which is not captured`),
    );
  if (to.kind === "link") writer.putLink(path, to, to.target);
  // Hard links are created after all files exist.
  if (linkOf !== null) hardLinks.push(() => writer.putHardLink(path, linkOf.split("/")));
  else if (to.kind === "file") restoreFile(options, path, from, to);
  if (to.kind !== "directory") return;
  writer.putDirectory(path);
  // The entries of an existing directory have their own differences.
  if (from?.kind === "directory") return;
  for (const [name, child] of to.children) restoreNode(options, [...path, name], null, child, hardLinks);
}

function restoreFile(
  { writer, objects }: RestoreTreeOptions,
  path: TreePath,
  from: TreeNode | null,
  to: FileNode,
): void {
  if (!canRewriteInPlace(from, to)) writer.putFile(path, to, to.size, objects.read(to.digest));
  else if (from.digest === to.digest) writer.setMetadata(path, to);
  else writer.rewriteFile(path, to, to.size, objects.read(to.digest));
}

/**
 * True if the content can be written into the existing file, which has no other hard link. Its directory then keeps its
 * modification time.
 */
function canRewriteInPlace(from: TreeNode | null, to: TreeNode | null): from is FileNode {
  if (from?.kind !== "file" || to?.kind !== "file" || from.nlink !== 1 || to.linkOf !== null) return false;
  return from.digest === to.digest || (from.ino === to.ino && to.nlink === 1);
}

/** Returns the changed directories and the parents of changed entries, deepest first. */
function directoriesAbove(differences: readonly TreeDifference[], wanted: DirectoryNode): [TreePath, DirectoryNode][] {
  const places = new Map<string, [TreePath, DirectoryNode]>();
  const add = (path: TreePath, node: TreeNode | null): void => {
    if (node?.kind === "directory") places.set(path.join("/"), [path, node]);
  };
  const addAll = (path: TreePath, node: TreeNode | null): void => {
    add(path, node);
    if (node?.kind === "directory") for (const [name, child] of node.children) addAll([...path, name], child);
  };
  for (const { path, from, to } of differences) {
    if (!canRewriteInPlace(from, to)) add(path.slice(0, -1), nodeAt(wanted, path.slice(0, -1)));
    if (from?.kind === "directory") add(path, to);
    else addAll(path, to);
  }
  return [...places.values()].sort(([left], [right]) => right.length - left.length);
}

function nodeAt(root: DirectoryNode, path: TreePath): TreeNode | null {
  let node: TreeNode | null = root;
  for (const name of path) node = node?.kind === "directory" ? (node.children.get(name) ?? null) : null;
  return node;
}

function touchedPaths(differences: readonly TreeDifference[]): TouchedPaths {
  const root: TouchedPaths = new Map();
  for (const { path } of differences) {
    let level = root;
    for (const name of path) {
      const below: TouchedPaths = level.get(name) ?? new Map();
      level.set(name, below);
      level = below;
    }
  }
  return root;
}

function isEqual(left: TreeNode, right: TreeNode): boolean {
  if (left === right) return true;
  if (!sameMetadata(left, right)) return false;
  if (left.kind === "link") return right.kind === "link" && left.target === right.target;
  if (left.kind === "file")
    return (
      right.kind === "file" && left.digest === right.digest && left.size === right.size && left.linkOf === right.linkOf
    );
  return left.kind === "other" && right.kind === "other" && left.what === right.what;
}
