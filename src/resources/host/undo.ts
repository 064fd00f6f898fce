import { constants, type Stats } from "node:fs";
import { FaultError, fault } from "../../core/fault.ts";
import { shown, type TreePath } from "../tree-path.ts";
import type { Anchor } from "./anchor.ts";
import type { CaptureLog } from "./capture-log.ts";
import { type Disk, readUpTo } from "./disk.ts";
import type { Hands } from "./hands.ts";
import type { LoggedRecord, Was } from "./log-record.ts";
import { nameFrom } from "./name-bytes.ts";
import { hashOf } from "./object-store.ts";
import { type Standing, standingOf } from "./tree-node.ts";

const chunkBytes = 8_388_608;

export interface UndoOptions {
  readonly disk: Disk;
  readonly anchor: Anchor;
  readonly hands: Hands;
  readonly log: CaptureLog;
  readonly aside: string;
  /** What was moved aside comes back itself; or a copy does, and it stays for whoever goes back there once more. */
  readonly asides: "move" | "copy";
}

interface State {
  readonly path: TreePath;
  readonly was: Was;
}

/** Undoes what went through a handle, and looks whether everything is as it was. Answers how much there was. */
export function undo(options: UndoOptions): number {
  const { anchor, hands, aside, asides, log } = options;
  const { records } = log;
  const states = statesIn(records);
  mustBeWhole(log, states);
  const [downward, upward] = [states.toSorted(byDepth), states.toSorted(byDepth).reverse()];
  const same = new Set<string>();
  for (const { path, was } of upward)
    if (was.kind !== "directory" && isCleared(anchor, hands, path, was)) same.add(path.join("/"));
  for (const { path, was } of downward) if (was.kind === "directory") hands.putDirectory(path);
  for (const { record } of records)
    if (record.type === "aside" && asides === "move") hands.putKept(record.path, `${aside}/${record.name}`);
  for (const { path, was } of downward) putBack(options, path, was, same);
  // Directories last: whatever happens in one changes its time.
  for (const { path, was } of upward) if (was.kind === "directory") hands.dress(path, was);
  hands.sync();
  for (const { path, was } of states) mustBe(options, path, was);
  return states.filter(({ was }) => was.kind !== "directory").length;
}

/** How each path was before it was first touched. */
function statesIn(records: readonly LoggedRecord[]): readonly State[] {
  const states = new Map<string, State>();
  for (const { record } of records) {
    if (record.type === "was" && !states.has(record.path.join("/")))
      states.set(record.path.join("/"), { path: record.path, was: record.was });
    if (record.type === "unmade") states.delete(record.path.join("/"));
  }
  return [...states.values()];
}

function byDepth(left: State, right: State): number {
  return left.path.length - right.path.length;
}

/** Takes away what was not there, or was no directory. Answers whether the very file is there. */
function isCleared(anchor: Anchor, hands: Hands, path: TreePath, was: Was): boolean {
  const stats = anchor.stats(path);
  if (stats?.isDirectory() === true) hands.removeEmpty(path);
  else if (stats !== null && was.kind === "absent") hands.remove(path);
  return was.kind === "file" && isIt(was, stats);
}

function isIt({ ino }: Was & { readonly kind: "file" }, stats: Stats | null): boolean {
  return stats?.isFile() === true && stats.ino === ino;
}

/** Every content that will be asked for is there, before anything is touched. */
function mustBeWhole(log: CaptureLog, states: readonly State[]): void {
  for (const { was } of states)
    if (was.kind === "file" && was.digest !== null) log.content({ digest: was.digest, size: was.size });
}

function putBack(options: UndoOptions, path: TreePath, was: Was, same: ReadonlySet<string>): void {
  const { disk, anchor, hands, log, aside, asides } = options;
  if (was.kind === "link") hands.putLink(path, was, was.target);
  if (was.kind !== "file") return;
  const { digest, size } = was;
  const stats = anchor.stats(path);
  const isThere = same.has(path.join("/")) || isIt(was, stats);
  // Another file in its place will do, if it has no other name: so its directory, which the call did not touch, does not notice.
  const isLike = stats?.isFile() === true && stats.nlink === 1;
  if (digest !== null && (isThere || isLike)) hands.refill(path, was, size, log.content({ digest, size }));
  else if (digest !== null) hands.putFile(path, was, size, log.content({ digest, size }));
  // Without a digest its content was never touched: it came back from where it was moved to.
  else if (isThere) hands.dress(path, was);
  else if (asides === "copy") putCopy(disk, hands, path, was, `${aside}/${nameAside(log, path)}`);
}

function putCopy(disk: Disk, hands: Hands, path: TreePath, was: Was & { readonly kind: "file" }, kept: string): void {
  const file = disk.openSync(kept, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    hands.putFile(path, was, was.size, chunksOf(disk, file, was.size));
  } finally {
    disk.closeSync(file);
  }
}

/** What a file that was at this path is called outside the tree. */
export function nameAside(log: CaptureLog, path: TreePath): string | null {
  const place = path.join("/");
  const moved = log.records.find(({ record }) => record.type === "aside" && record.path.join("/") === place)?.record;
  return moved?.type === "aside" ? moved.name : null;
}

function* chunksOf(disk: Disk, file: number, size: number): Generator<Uint8Array> {
  for (let at = 0; at < size; at += chunkBytes) yield readUpTo(disk, file, Math.min(chunkBytes, size - at), at);
}

function mustBe(options: UndoOptions, path: TreePath, was: Was): void {
  if (was.kind === "file" && was.digest !== null ? isFile(options, path, was) : isOther(options, path, was)) return;
  throw new FaultError(fault("RESTORE_FAILED", `${shown(path.join("/"))} is not as it was`, { path: path.join("/") }));
}

function stands(was: Was, stats: Stats | null): boolean {
  if (was.kind === "absent" || stats === null) return was.kind === "absent" && stats === null;
  if (was.kind === "directory") return stats.isDirectory() && dressed(was, stats);
  if (was.kind === "link") return stats.isSymbolicLink() && standingOf(stats).mtime_us === was.mtime_us;
  return stats.isFile() && stats.size === was.size && dressed(was, stats);
}

function dressed(was: Standing, stats: Stats): boolean {
  const now = standingOf(stats);
  return now.mode === was.mode && now.uid === was.uid && now.gid === was.gid && now.mtime_us === was.mtime_us;
}

function isFile({ disk, anchor }: UndoOptions, path: TreePath, was: Was & { readonly kind: "file" }): boolean {
  const { descriptor, stats } = anchor.file(path, constants.O_RDONLY);
  try {
    return stands(was, stats) && hashOf(chunksOf(disk, descriptor, was.size)) === was.digest;
  } finally {
    disk.closeSync(descriptor);
  }
}

/** The content of a file without a digest was never touched. */
function isOther({ disk, anchor }: UndoOptions, path: TreePath, was: Was): boolean {
  if (!stands(was, anchor.stats(path))) return false;
  if (was.kind !== "link") return true;
  return nameFrom(anchor.at(path, ({ place }) => disk.readlinkSync(place, "buffer"))) === was.target;
}
