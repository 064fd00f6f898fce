import { FaultError, fault } from "../../core/fault.ts";
import type { Digest } from "../../core/id.ts";
import type { ResourceChange } from "../../core/resource.ts";
import { shown, type TreePath } from "../tree-path.ts";
import type { Hands } from "./hands.ts";
import type { ObjectStore } from "./object-store.ts";
import { type DirectoryNode, type FileNode, sameStanding, type TreeNode } from "./tree-node.ts";
import type { Look, Touched, TreeWalker } from "./tree-walker.ts";

/** One thing that is not as it is wanted; nothing on one side: it is only on the other. */
export interface Difference {
  readonly path: TreePath;
  readonly from: TreeNode | null;
  readonly to: TreeNode | null;
}

/** Every path at which two trees differ, parents first. What both share is not looked at. */
export function differences(from: DirectoryNode, to: DirectoryNode, above: TreePath = []): Difference[] {
  if (from === to || (from.digest !== null && from.digest === to.digest && sameStanding(from, to))) return [];
  const found: Difference[] = sameStanding(from, to) ? [] : [{ path: above, from, to }];
  if (from.children === to.children || (from.digest !== null && from.digest === to.digest)) return found;
  for (const [name, left] of from.children) {
    const right = to.children.get(name);
    const path = [...above, name];
    if (right === undefined) found.push({ path, from: left, to: null });
    else if (left.kind === "directory" && right.kind === "directory") found.push(...differences(left, right, path));
    else if (!isEqual(left, right)) found.push({ path, from: left, to: right });
  }
  for (const [name, right] of to.children) {
    if (!from.children.has(name)) found.push({ path: [...above, name], from: null, to: right });
  }
  return found;
}

/** As the record shows them: directories with all that is in them, in the order of their paths. */
export function changesOf(found: readonly Difference[]): readonly ResourceChange[] {
  const changes = found.flatMap(({ path, from, to }) => {
    if (from === null) return below(path, to, "added");
    if (to === null) return below(path, from, "removed");
    // Its time follows from what happened in it.
    if (from.kind === "directory" && to.kind === "directory" && from.mode === to.mode) return [];
    return [{ path: path.join("/"), change: "changed" as const }];
  });
  return changes.sort((left, right) => (left.path < right.path ? -1 : 1));
}

function below(path: TreePath, node: TreeNode | null, change: "added" | "removed"): ResourceChange[] {
  const inside = node?.kind === "directory" ? [...node.children] : [];
  return [
    { path: path.join("/"), change },
    ...inside.flatMap(([name, child]) => below([...path, name], child, change)),
  ];
}

export interface TreeRestorerOptions {
  readonly walker: TreeWalker;
  readonly objects: ObjectStore;
  readonly hands: Hands;
}

/** Makes a tree what it was, touching only what is different, and compares the whole of it at the end. */
export async function restoreTree(
  options: TreeRestorerOptions,
  now: Look,
  wanted: DirectoryNode,
  digest: Digest,
): Promise<{ readonly look: Look; readonly changed: number }> {
  const { walker, hands } = options;
  const found = differences(now.root, wanted);
  for (const { from, to } of found) mustBeKept(options, from, to);
  // What is to go makes room for what is to come.
  for (const { path, from, to } of found)
    if (from !== null && (to === null || from.kind !== to.kind)) hands.remove(path);
  const later: (() => void)[] = [];
  for (const { path, from, to } of found) if (to !== null) put(options, path, from, to, later);
  for (const work of later) work();
  for (const [path, node] of directoriesAbove(found, wanted)) hands.dress(path, node);
  hands.sync();
  // Which names are of one file shows only in the whole.
  const only = found.some(({ from, to }) => isLinked(from) || isLinked(to)) ? null : touchedBy(found);
  const after = await walker.look("see", now.root, only);
  if (after.digest !== digest)
    throw new FaultError(
      fault("RESTORE_FAILED", `the tree is ${after.digest}, and was ${digest}`, told(after.root, wanted)),
    );
  return { look: after, changed: found.length };
}

function told(now: DirectoryNode, wanted: DirectoryNode): { readonly differs: readonly string[] } {
  return {
    differs: differences(now, wanted)
      .slice(0, 20)
      .map(({ path }) => shown(path.join("/"))),
  };
}

function isLinked(node: TreeNode | null): boolean {
  if (node?.kind === "directory") return [...node.children.values()].some(isLinked);
  return node?.kind === "file" && (node.nlink > 1 || node.linkOf !== null);
}

/** Every content that will be asked for is there, before anything is touched. */
function mustBeKept(options: TreeRestorerOptions, from: TreeNode | null, to: TreeNode | null): void {
  const isThere = staysInPlace(from, to) && to?.kind === "file" && from.digest === to.digest;
  if (to?.kind === "file" && to.linkOf === null && !isThere) options.objects.mustHold(to.digest);
  // One that is there already has its own differences listed.
  if (to?.kind === "directory" && from?.kind !== "directory")
    for (const child of to.children.values()) mustBeKept(options, null, child);
}

function put(
  options: TreeRestorerOptions,
  path: TreePath,
  from: TreeNode | null,
  to: TreeNode,
  later: (() => void)[],
): void {
  const { hands } = options;
  const { linkOf } = to.kind === "file" ? to : { linkOf: null };
  if (to.kind === "other")
    throw new FaultError(fault("RESTORE_FAILED", `${shown(path.join("/"))} was ${to.what}, which is not kept`));
  if (to.kind === "link") hands.putLink(path, to, to.target);
  // Further names of a file come when all files are there.
  if (linkOf !== null) later.push(() => hands.putName(path, linkOf.split("/")));
  else if (to.kind === "file") putFile(options, path, from, to);
  if (to.kind !== "directory") return;
  hands.putDirectory(path);
  // One that is there already has its own differences listed.
  if (from?.kind === "directory") return;
  for (const [name, child] of to.children) put(options, [...path, name], null, child, later);
}

function putFile({ hands, objects }: TreeRestorerOptions, path: TreePath, from: TreeNode | null, to: FileNode): void {
  if (!staysInPlace(from, to)) hands.putFile(path, to, to.size, objects.read(to.digest));
  else if (from.digest === to.digest) hands.dress(path, to);
  else hands.refill(path, to, to.size, objects.read(to.digest));
}

/** The same file, and it has no other name: what is put back is put into it, and its directory does not notice. */
function staysInPlace(from: TreeNode | null, to: TreeNode | null): from is FileNode {
  if (from?.kind !== "file" || to?.kind !== "file" || from.nlink !== 1 || to.linkOf !== null) return false;
  return from.digest === to.digest || (from.ino === to.ino && to.nlink === 1);
}

/** Directories that were changed, or had something changed in them, the deepest first. */
function directoriesAbove(found: readonly Difference[], wanted: DirectoryNode): [TreePath, DirectoryNode][] {
  const places = new Map<string, [TreePath, DirectoryNode]>();
  const add = (path: TreePath, node: TreeNode | null): void => {
    if (node?.kind === "directory") places.set(path.join("/"), [path, node]);
  };
  const addAll = (path: TreePath, node: TreeNode | null): void => {
    add(path, node);
    if (node?.kind === "directory") for (const [name, child] of node.children) addAll([...path, name], child);
  };
  for (const { path, from, to } of found) {
    if (!staysInPlace(from, to)) add(path.slice(0, -1), nodeAt(wanted, path.slice(0, -1)));
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

function touchedBy(found: readonly Difference[]): Touched {
  const root: Touched = new Map();
  for (const { path } of found) {
    let level = root;
    for (const name of path) {
      const below: Touched = level.get(name) ?? new Map();
      level.set(name, below);
      level = below;
    }
  }
  return root;
}

function isEqual(left: TreeNode, right: TreeNode): boolean {
  if (left === right) return true;
  if (!sameStanding(left, right)) return false;
  if (left.kind === "link") return right.kind === "link" && left.target === right.target;
  if (left.kind === "file")
    return (
      right.kind === "file" && left.digest === right.digest && left.size === right.size && left.linkOf === right.linkOf
    );
  return left.kind === "other" && right.kind === "other" && left.what === right.what;
}
