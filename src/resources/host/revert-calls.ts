import { constants } from "node:fs";
import { LEFT_PLACES_MAX, type LeftPlace, type RevertReport } from "../../core/ports/revert-report.ts";
import { printablePath, type TreePath } from "../tree-path.ts";
import type { CaptureLog } from "./capture-log.ts";
import type { PriorState } from "./capture-record.ts";
import { nodeAt, TreeHistory } from "./changes-between-calls.ts";
import { changeMark, type HostBackend } from "./host-backend.ts";
import { asideName, assertRestored, byDepth, chunksOf } from "./restore-from-log.ts";
import type { TreeNode } from "./tree-node.ts";
import { TreeWriter, temporaryName } from "./tree-writer.ts";
import type { WorkingTree } from "./working-tree.ts";

/** A path that the calls changed, with its state before the first of them. `why`: it stays as it is. */
interface OwnPath {
  readonly path: TreePath;
  readonly was: PriorState;
  /** The first and the last of the calls that changed it. */
  readonly first: CaptureLog;
  last: CaptureLog;
  why: string | null;
}

/**
 * Puts back the paths that the calls with these captures changed, as a change of an open call that records the current
 * states first. A path stays as it is if another call or another program has changed it since.
 */
export async function revertCalls(
  parts: WorkingTree,
  ids: readonly string[],
  own: CaptureLog,
  backend: HostBackend,
): Promise<RevertReport> {
  const left: LeftPlace[] = [];
  const known = new Set(parts.captures.kept.map(({ id }) => id));
  for (const id of ids)
    if (!known.has(id)) left.push({ path: ".", why: `the capture ${id} was dropped; the files of its call stay` });
  const calls = new Set(ids.filter((id) => known.has(id)));
  const paths = await new OwnPaths(parts, calls, own.id).find();
  const restorable = [...paths.values()].filter(({ why }) => why === null);
  const isDirectory = ({ path, was }: OwnPath) =>
    was.kind === "directory" || (was.kind === "absent" && parts.rootDirectory.stats(path)?.isDirectory() === true);
  const restored = restorable.filter((each) => !isDirectory(each)).length;
  if (own.before === null) backend.recordPriorStates(withTemporaryPlaces(restorable, own.id));
  putBack(parts, restorable, new TreeWriter(parts.disk, parts.rootDirectory, own.id));
  // An entry that was added to a directory by others leaves nothing behind: the directory itself existed before.
  for (const { path, was, why } of paths.values())
    if (why !== null && was.kind !== "directory") left.push({ path: path.join("/"), why });
  return { restored, left: left.length, places: left.slice(0, LEFT_PLACES_MAX) };
}

function withTemporaryPlaces(paths: readonly OwnPath[], id: string): readonly TreePath[] {
  const places = paths.flatMap(({ path }) => [path, [...path.slice(0, -1), temporaryName(id)]]);
  return [...new Map(places.map((path) => [path.join("/"), path])).values()];
}

/** Finds the paths that calls changed, and which of them can be put back. */
class OwnPaths {
  readonly #parts: WorkingTree;
  readonly #calls: ReadonlySet<string>;
  readonly #logs: readonly CaptureLog[];
  readonly #history: TreeHistory;
  readonly #paths = new Map<string, OwnPath>();

  constructor(parts: WorkingTree, calls: ReadonlySet<string>, until: string) {
    this.#parts = parts;
    this.#calls = calls;
    const [first] = [...calls].sort();
    const isChange = ({ id, state }: CaptureLog) => id < until && state === "kept";
    this.#logs = first === undefined ? [] : parts.captures.since(first).filter(isChange);
    this.#history = new TreeHistory(parts);
  }

  async find(): Promise<ReadonlyMap<string, OwnPath>> {
    for (const log of this.#logs) {
      const isOwn = this.#calls.has(log.id);
      for (const path of await this.#history.touchedBy(log)) {
        if (isOwn) this.#addOwn(log, path);
        else this.#leave(path, `${printablePath(log.begun.tag)} has changed it since`);
      }
    }
    for (const own of this.#paths.values()) own.why ??= this.#otherChange(own);
    const all = [...this.#paths.values()];
    for (const own of all.toSorted(byDepth).reverse()) own.why ??= this.#foreignEntry(own);
    for (const own of all.toSorted(byDepth)) own.why ??= this.#missingDirectory(own);
    return this.#paths;
  }

  #addOwn(log: CaptureLog, path: TreePath): void {
    const place = path.join("/");
    const found = this.#paths.get(place);
    if (found !== undefined) {
      found.last = log;
      return;
    }
    const was = this.#priorState(log, path);
    const why = was === null ? "it cannot be put back by itself, because it has other hard links or is no file" : null;
    this.#paths.set(place, { path, was: was ?? { kind: "absent" }, first: log, last: log, why });
  }

  #priorState(log: CaptureLog, path: TreePath): PriorState | null {
    if (log.before === null) {
      const place = path.join("/");
      const found = log.records.find(({ record }) => record.type === "was" && record.path.join("/") === place)?.record;
      return found?.type === "was" ? found.was : { kind: "absent" };
    }
    return stateOfNode(nodeAt(this.#history.tree(log.before), path));
  }

  #leave(path: TreePath, why: string): void {
    const own = this.#paths.get(path.join("/"));
    if (own !== undefined) own.why ??= why;
  }

  /** Returns why another program has changed the path since the last of the calls, or null. */
  #otherChange({ path, last }: OwnPath): string | null {
    const { rootDirectory } = this.#parts;
    const { closed } = last;
    if (closed === null) return null;
    const now = changeMark(rootDirectory.stats(path));
    const place = path.join("/");
    const then =
      closed.tree === null
        ? closed.after.find((final) => final.path.join("/") === place)?.mark
        : markOfNode(nodeAt(this.#history.tree(closed.tree), path));
    return then === undefined || then === now ? null : "another program has changed it since";
  }

  /** Returns why a directory that the calls made cannot be removed: it has entries of others. */
  #foreignEntry({ path, was }: OwnPath): string | null {
    const { rootDirectory, disk } = this.#parts;
    if (was.kind !== "absent" || rootDirectory.stats(path)?.isDirectory() !== true) return null;
    const names = new TreeWriter(disk, rootDirectory, "").list(path);
    const isOwn = (name: string) => {
      const own = this.#paths.get([...path, name].join("/"));
      return own?.why === null && own.was.kind === "absent";
    };
    return names.every(isOwn) ? null : "it has entries that the plan did not make";
  }

  /** Returns why an entry has no place any more: its directory is gone. */
  #missingDirectory({ path, was }: OwnPath): string | null {
    if (was.kind === "absent" || path.length < 2) return null;
    const parent = path.slice(0, -1);
    if (this.#parts.rootDirectory.stats(parent)?.isDirectory() === true) return null;
    const own = this.#paths.get(parent.join("/"));
    return own?.why === null && own.was.kind === "directory" ? null : "its directory is gone";
  }
}

/** Returns null for an entry that cannot be put back by itself. */
function stateOfNode(node: TreeNode | null): PriorState | null {
  if (node === null) return { kind: "absent" };
  const { mode, uid, gid, mtime_us } = node;
  const metadata = { mode, uid, gid, mtime_us };
  if (node.kind === "directory") return { kind: "directory", ...metadata };
  if (node.kind === "link") return { kind: "link", ...metadata, target: node.target };
  if (node.kind === "other" || node.linkOf !== null || node.nlink > 1) return null;
  return { kind: "file", ...metadata, size: node.size, ino: node.ino, digest: node.digest };
}

/** Returns the mark that the entry has while it is as in the tree. */
function markOfNode(node: TreeNode | null): string {
  if (node === null) return "absent";
  const { kind, mode, uid, gid, mtime_us } = node;
  if (kind === "directory") return `directory ${mode}`;
  const size = kind === "file" ? node.size : kind === "link" ? Buffer.byteLength(node.target) : 0;
  return `${kind} ${size} ${mode} ${uid} ${gid} ${mtime_us}`;
}

/** Writes the states, verifies them, and makes them durable. */
function putBack(parts: WorkingTree, paths: readonly OwnPath[], writer: TreeWriter): void {
  const { rootDirectory } = parts;
  for (const own of paths) assertContentStored(parts, own);
  const shallowestFirst = paths.toSorted(byDepth);
  const deepestFirst = shallowestFirst.toReversed();
  for (const { path, was } of deepestFirst) {
    const stats = rootDirectory.stats(path);
    if (stats === null || was.kind === "directory") continue;
    if (stats.isDirectory()) writer.removeEmpty(path);
    else if (was.kind === "absent") writer.remove(path);
  }
  for (const { path, was } of shallowestFirst) if (was.kind === "directory") writer.putDirectory(path);
  for (const own of shallowestFirst) putEntry(parts, writer, own);
  // Directories last, because every change in a directory changes its modification time.
  for (const { path, was } of deepestFirst) if (was.kind === "directory") writer.setMetadata(path, was);
  writer.sync();
  for (const { path, was } of paths) assertRestored(parts, path, was);
}

function putEntry(parts: WorkingTree, writer: TreeWriter, own: OwnPath): void {
  const { path, was } = own;
  if (was.kind === "link") writer.putLink(path, was, was.target);
  if (was.kind !== "file") return;
  const stats = parts.rootDirectory.stats(path);
  // A file without other names is overwritten, so that the time of its directory does not change.
  if (stats?.isFile() === true && stats.nlink === 1)
    writer.rewriteFile(path, was, was.size, contentOf(parts, own, was));
  else writer.putFile(path, was, was.size, contentOf(parts, own, was));
}

type PriorFile = Extract<PriorState, { kind: "file" }>;

/** Throws, before anything is changed, if a content is missing or damaged. */
function assertContentStored(parts: WorkingTree, { first, was }: OwnPath): void {
  if (was.kind !== "file" || was.digest === null) return;
  if (first.before === null) first.content({ digest: was.digest, size: was.size });
  else parts.objects.verify(was.digest);
}

function* contentOf({ disk, captures, objects }: WorkingTree, { first, path }: OwnPath, was: PriorFile) {
  if (was.digest !== null && first.before !== null) yield* objects.read(was.digest);
  else if (was.digest !== null) yield* first.content({ digest: was.digest, size: was.size });
  else {
    const place = `${captures.aside}/${asideName(first, path)}`;
    const file = disk.openSync(place, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      yield* chunksOf(disk, file, was.size);
    } finally {
      disk.closeSync(file);
    }
  }
}
