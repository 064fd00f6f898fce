import { constants, type Stats } from "node:fs";
import { FaultError, fault } from "../../core/values/fault.ts";
import { decodeFileName } from "../file-name-bytes.ts";
import { printablePath, type TreePath } from "../tree-path.ts";
import type { CaptureLog } from "./capture-log.ts";
import type { LoggedRecord, PriorState } from "./capture-record.ts";
import { type Disk, readUpTo } from "./disk.ts";
import { hashChunks } from "./object-store.ts";
import type { RootDirectory } from "./root-directory.ts";
import { metadataOf, type NodeMetadata } from "./tree-node.ts";
import type { TreeWriter } from "./tree-writer.ts";

const chunkBytes = 8_388_608;

export interface RestoreFromLogOptions {
  readonly disk: Disk;
  readonly rootDirectory: RootDirectory;
  readonly writer: TreeWriter;
  readonly log: CaptureLog;
  readonly aside: string;
  /** `move`: a file that was moved aside is moved back. `copy`: it is copied and stays aside for later restores. */
  readonly asides: "move" | "copy";
}

interface PathState {
  readonly path: TreePath;
  readonly was: PriorState;
}

/** Undoes a call that used only its handle, and verifies the result. Returns the number of restored paths. */
export function restoreFromLog(options: RestoreFromLogOptions): number {
  const { rootDirectory, writer, aside, asides, log } = options;
  const { records } = log;
  const states = priorStates(records);
  assertContentsStored(log, states);
  const [shallowestFirst, deepestFirst] = [states.toSorted(byDepth), states.toSorted(byDepth).reverse()];
  const unreplaced = new Set<string>();
  for (const { path, was } of deepestFirst)
    if (was.kind !== "directory" && clearPath(rootDirectory, writer, path, was)) unreplaced.add(path.join("/"));
  for (const { path, was } of shallowestFirst) if (was.kind === "directory") writer.putDirectory(path);
  for (const { record } of records)
    if (record.type === "aside" && asides === "move") writer.putAsideFile(record.path, `${aside}/${record.name}`);
  for (const { path, was } of shallowestFirst) restorePath(options, path, was, unreplaced);
  // Directories last, because every change in a directory changes its modification time.
  for (const { path, was } of deepestFirst) if (was.kind === "directory") writer.setMetadata(path, was);
  writer.sync();
  for (const { path, was } of states) assertRestored(options, path, was);
  return states.filter(({ was }) => was.kind !== "directory").length;
}

/** Returns the state of each path before the call first changed it. */
function priorStates(records: readonly LoggedRecord[]): readonly PathState[] {
  const states = new Map<string, PathState>();
  for (const { record } of records) {
    if (record.type === "was" && !states.has(record.path.join("/")))
      states.set(record.path.join("/"), { path: record.path, was: record.was });
    if (record.type === "unmade") states.delete(record.path.join("/"));
  }
  return [...states.values()];
}

export function byDepth(left: Pick<PathState, "path">, right: Pick<PathState, "path">): number {
  return left.path.length - right.path.length;
}

/**
 * Removes an entry that did not exist before, or that is a directory now and was none. Returns true if the original
 * file is still there.
 */
function clearPath(rootDirectory: RootDirectory, writer: TreeWriter, path: TreePath, was: PriorState): boolean {
  const stats = rootDirectory.stats(path);
  if (stats?.isDirectory() === true) writer.removeEmpty(path);
  else if (stats !== null && was.kind === "absent") writer.remove(path);
  return was.kind === "file" && isSameFile(was, stats);
}

function isSameFile({ ino }: PriorState & { readonly kind: "file" }, stats: Stats | null): boolean {
  return stats?.isFile() === true && stats.ino === ino;
}

/** Throws, before anything is changed, if a content that the restore needs is missing or damaged. */
function assertContentsStored(log: CaptureLog, states: readonly PathState[]): void {
  for (const { was } of states)
    if (was.kind === "file" && was.digest !== null) log.content({ digest: was.digest, size: was.size });
}

function restorePath(
  options: RestoreFromLogOptions,
  path: TreePath,
  was: PriorState,
  unreplaced: ReadonlySet<string>,
): void {
  const { disk, rootDirectory, writer, log, aside, asides } = options;
  if (was.kind === "link") writer.putLink(path, was, was.target);
  if (was.kind !== "file") return;
  const { digest, size } = was;
  const stats = rootDirectory.stats(path);
  const isSame = unreplaced.has(path.join("/")) || isSameFile(was, stats);
  // Another file at the path is overwritten if it has no other hard link. Its directory, which the call did not change,
  // then keeps its modification time.
  const isReplaceable = stats?.isFile() === true && stats.nlink === 1;
  if (digest !== null && (isSame || isReplaceable)) writer.rewriteFile(path, was, size, log.content({ digest, size }));
  else if (digest !== null) writer.putFile(path, was, size, log.content({ digest, size }));
  // Without a digest the content was not changed: the file was moved aside and is back.
  else if (isSame) writer.setMetadata(path, was);
  else if (asides === "copy") restoreCopy(disk, writer, path, was, `${aside}/${asideName(log, path)}`);
}

function restoreCopy(
  disk: Disk,
  writer: TreeWriter,
  path: TreePath,
  was: PriorState & { readonly kind: "file" },
  kept: string,
): void {
  const file = disk.openSync(kept, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    writer.putFile(path, was, was.size, chunksOf(disk, file, was.size));
  } finally {
    disk.closeSync(file);
  }
}

/** Returns the name under which the file at this path was moved aside, or null. */
export function asideName(log: CaptureLog, path: TreePath): string | null {
  const place = path.join("/");
  const asideRecord = log.records.find(
    ({ record }) => record.type === "aside" && record.path.join("/") === place,
  )?.record;
  return asideRecord?.type === "aside" ? asideRecord.name : null;
}

export function* chunksOf(disk: Disk, file: number, size: number): Generator<Uint8Array> {
  for (let at = 0; at < size; at += chunkBytes) yield readUpTo(disk, file, Math.min(chunkBytes, size - at), at);
}

type Disks = Pick<RestoreFromLogOptions, "disk" | "rootDirectory">;

export function assertRestored(options: Disks, path: TreePath, was: PriorState): void {
  if (was.kind === "file" && was.digest !== null ? matchesFile(options, path, was) : matchesOther(options, path, was))
    return;
  throw new FaultError(
    fault("RESTORE_FAILED", `${printablePath(path.join("/"))} does not have its captured state`, {
      path: path.join("/"),
    }),
  );
}

function matchesState(was: PriorState, stats: Stats | null): boolean {
  if (was.kind === "absent" || stats === null) return was.kind === "absent" && stats === null;
  if (was.kind === "directory") return stats.isDirectory() && matchesMetadata(was, stats);
  if (was.kind === "link") return stats.isSymbolicLink() && metadataOf(stats).mtime_us === was.mtime_us;
  return stats.isFile() && stats.size === was.size && matchesMetadata(was, stats);
}

function matchesMetadata(was: NodeMetadata, stats: Stats): boolean {
  const now = metadataOf(stats);
  return now.mode === was.mode && now.uid === was.uid && now.gid === was.gid && now.mtime_us === was.mtime_us;
}

function matchesFile(
  { disk, rootDirectory }: Disks,
  path: TreePath,
  was: PriorState & { readonly kind: "file" },
): boolean {
  const { descriptor, stats } = rootDirectory.openFile(path, constants.O_RDONLY);
  try {
    return matchesState(was, stats) && hashChunks(chunksOf(disk, descriptor, was.size)) === was.digest;
  } finally {
    disk.closeSync(descriptor);
  }
}

/** Compares everything but file contents. The content of a file without a digest was never changed. */
function matchesOther({ disk, rootDirectory }: Disks, path: TreePath, was: PriorState): boolean {
  if (!matchesState(was, rootDirectory.stats(path))) return false;
  if (was.kind !== "link") return true;
  return (
    decodeFileName(rootDirectory.withEntry(path, ({ place }) => disk.readlinkSync(place, "buffer"))) === was.target
  );
}
