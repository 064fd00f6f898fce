import { constants, type Stats } from "node:fs";
import type { ResourceChange, ResourceDifference } from "../../core/ports/resource.ts";
import type { Digest } from "../../core/values/ids.ts";
import { decodeFileName } from "../file-name-bytes.ts";
import type { TreePath } from "../tree-path.ts";
import type { CaptureLog } from "./capture-log.ts";
import type { PriorState } from "./capture-record.ts";
import { asideName } from "./restore-from-log.ts";
import { compareTrees } from "./restore-tree.ts";
import type { DirectoryNode, TreeNode } from "./tree-node.ts";
import type { WorkingTree } from "./working-tree.ts";

/**
 * Returns the changes between the states before two calls; null means the current state. Works for handle calls and raw
 * calls.
 */
export async function changesBetweenCalls(
  parts: WorkingTree,
  from: string | null,
  until: string | null,
): Promise<readonly ResourceDifference[]> {
  if (from === until) return [];
  if (from === null || (until !== null && until < from))
    return (await changesBetweenCalls(parts, until, from)).map(reverseChange);
  const logs = parts.captures.since(from);
  const between = logs.filter(({ id }) => until === null || id < until);
  const after = until === null ? [] : logs.filter(({ id }) => id >= until);
  const history = new TreeHistory(parts);
  const touched: TreePath[] = [];
  for (const log of between) touched.push(...(await history.touchedBy(log)));
  const paths = new Map(touched.map((path) => [path.join("/"), path]));
  const changes = [...paths.values()].flatMap((path) => {
    const [before, now] = [history.stateAt(logs, path), history.stateAt(after, path)];
    if (before.mark === now.mark) return [];
    return [{ path: path.join("/"), change: changeOf(before, now), bytes: { before: before.bytes, after: now.bytes } }];
  });
  return changes.sort((left, right) => (left.path < right.path ? -1 : 1));
}

function reverseChange({ path, change, bytes }: ResourceDifference): ResourceDifference {
  const sizes = { before: bytes.after, after: bytes.before };
  if (change === "changed") return { path, change, bytes: sizes };
  return { path, change: change === "added" ? "removed" : "added", bytes: sizes };
}

function changeOf(before: PathState, now: PathState): ResourceChange["change"] {
  if (before.mark === absent.mark) return "added";
  return now.mark === absent.mark ? "removed" : "changed";
}

/** The state of a path. Equal marks mean equal states. */
interface PathState {
  readonly mark: string;
  /** The size of a file, or null. */
  readonly bytes: number | null;
}

const absent: PathState = { mark: "absent", bytes: null };

function fileState(mode: number, digest: Digest, bytes: number): PathState {
  return { mark: `file ${mode} ${digest}`, bytes };
}

function otherState(mark: string): PathState {
  return { mark, bytes: null };
}

/** Looks up past states of a tree in the logs of its calls. */
export class TreeHistory {
  readonly #parts: WorkingTree;
  readonly #trees = new Map<Digest, DirectoryNode>();

  constructor(parts: WorkingTree) {
    this.#parts = parts;
  }

  /** Returns the paths that a call may have changed. */
  async touchedBy(log: CaptureLog): Promise<readonly TreePath[]> {
    const tree = log.before;
    if (tree === null) return log.records.flatMap(({ record }) => (record.type === "was" ? [record.path] : []));
    const closed = log.closed?.tree ?? null;
    const until = closed === null ? (await this.#parts.walker.scan("hash", null)).root : this.tree(closed);
    return compareTrees(this.tree(tree), until).flatMap(({ path, from, to }) => [
      ...pathsBelow(path, from),
      ...pathsBelow(path, to),
    ]);
  }

  /** Returns the state of a path before the first of these calls that recorded it, or the current state if none did. */
  stateAt(logs: readonly CaptureLog[], path: TreePath): PathState {
    const place = path.join("/");
    for (const log of logs) {
      const tree = log.before;
      if (tree !== null) return stateOfNode(nodeAt(this.tree(tree), path));
      const found = log.records.find(({ record }) => record.type === "was" && record.path.join("/") === place);
      if (found?.record.type === "was") return stateOfRecord(this.#parts, log, found.record.was, path);
    }
    const stats = this.#parts.rootDirectory.stats(path);
    return stats === null ? absent : stateOfStats(this.#parts, path, stats);
  }

  /** Returns the tree with this digest. It is loaded once. */
  tree(digest: Digest): DirectoryNode {
    const found = this.#trees.get(digest) ?? this.#parts.walker.load(digest);
    this.#trees.set(digest, found);
    return found;
  }
}

function pathsBelow(path: TreePath, node: TreeNode | null): readonly TreePath[] {
  if (node?.kind !== "directory") return [path];
  return [path, ...[...node.children].flatMap(([name, child]) => pathsBelow([...path, name], child))];
}

export function nodeAt(root: DirectoryNode, path: TreePath): TreeNode | null {
  let node: TreeNode | null = root;
  for (const name of path) node = node?.kind === "directory" ? (node.children.get(name) ?? null) : null;
  return node;
}

function stateOfNode(node: TreeNode | null): PathState {
  if (node === null) return absent;
  if (node.kind === "file") return fileState(node.mode, node.digest, node.size);
  if (node.kind === "link") return otherState(`link ${node.target}`);
  return otherState(node.kind === "directory" ? `directory ${node.mode}` : node.what);
}

function stateOfRecord(
  { captures, objects, disk }: WorkingTree,
  log: CaptureLog,
  was: PriorState,
  path: TreePath,
): PathState {
  if (was.kind === "absent") return absent;
  if (was.kind === "link") return otherState(`link ${was.target}`);
  if (was.kind === "directory") return otherState(`directory ${was.mode}`);
  if (was.digest !== null) return fileState(was.mode, was.digest, was.size);
  const name = asideName(log, path);
  if (name === null) return otherState("file");
  const file = disk.openSync(`${captures.aside}/${name}`, constants.O_RDONLY);
  try {
    return fileState(was.mode, objects.hashFile(file, was.size), was.size);
  } finally {
    disk.closeSync(file);
  }
}

function stateOfStats({ rootDirectory, disk, objects }: WorkingTree, path: TreePath, stats: Stats): PathState {
  const mode = stats.mode & 0o7777;
  if (stats.isDirectory()) return otherState(`directory ${mode}`);
  if (stats.isSymbolicLink()) {
    const target = rootDirectory.withEntry(path, ({ place }) => disk.readlinkSync(place, "buffer"));
    return otherState(`link ${decodeFileName(target)}`);
  }
  if (!stats.isFile()) return otherState("other");
  const { descriptor } = rootDirectory.openFile(path, constants.O_RDONLY);
  try {
    return fileState(mode, objects.hashFile(descriptor, stats.size), stats.size);
  } finally {
    disk.closeSync(descriptor);
  }
}
