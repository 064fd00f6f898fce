import { existsSync, readFileSync, statSync } from "node:fs";
import type { DiskObserver } from "./observe-disk.ts";
import { lockFileNames, storeFile, worldFile } from "./store-files.ts";

/** The bytes of the file and the log of a store; null: the file does not exist. */
export interface StoreBytes {
  readonly db: Buffer | null;
  readonly wal: Buffer | null;
}

/** A write of bytes at an offset, or a truncation. */
export type FileWrite = { readonly file: keyof StoreBytes } & (
  | { readonly at: number; readonly bytes: Buffer }
  | { readonly end: number }
);

/** The files beside the store at one moment. */
export interface Moment {
  /** The size of the world log in bytes. */
  readonly worldSize: number;
  /** The names of the lock files of workers. */
  readonly lockFiles: readonly string[];
}

/** The writes of one transaction or checkpoint, and the moments before and after it. */
export interface WriteBatch {
  readonly writes: readonly FileWrite[];
  readonly synced: boolean;
  readonly before: Moment;
  readonly after: Moment;
}

const PAGE = 4096;
const LOG_HEAD = 32;
const FRAME_HEAD = 24;
const FRAME = FRAME_HEAD + PAGE;

/**
 * Records the writes to the files of one store in the order of SQLite: frames to the log; at a checkpoint, pages to the
 * file; then the truncation of the log. The writes follow from the difference of the files, since only SQLite writes
 * them.
 */
export class WriteRecorder implements DiskObserver {
  readonly first: StoreBytes;
  readonly start: Moment;
  readonly batches: WriteBatch[] = [];
  readonly #folder: string;
  #last: StoreBytes;
  #before: Moment;
  #running = true;

  constructor(folder: string) {
    this.#folder = folder;
    this.first = readStoreBytes(folder);
    this.start = readMoment(folder);
    this.#before = this.start;
    this.#last = this.first;
  }

  writing(): void {
    if (this.#running) this.#before = readMoment(this.#folder);
  }

  written(synced: boolean): void {
    if (!this.#running) return;
    const now = readStoreBytes(this.#folder);
    const writes = diffStores(this.#last, now);
    this.#last = now;
    if (writes.length > 0) this.batches.push({ writes, synced, before: this.#before, after: readMoment(this.#folder) });
  }

  stop(): void {
    this.#running = false;
  }
}

export function readMoment(folder: string): Moment {
  const world = worldFile(folder);
  return { worldSize: existsSync(world) ? statSync(world).size : 0, lockFiles: lockFileNames(folder) };
}

function readStoreBytes(folder: string): StoreBytes {
  const read = (file: string) => (existsSync(file) ? readFileSync(file) : null);
  return { db: read(storeFile(folder)), wal: read(`${storeFile(folder)}-wal`) };
}

/** Returns the writes that lead from one state to the next. */
function diffStores(old: StoreBytes, now: StoreBytes): readonly FileWrite[] {
  return [
    ...changedUnits("wal", logUnits(now.wal), old.wal),
    ...changedUnits("db", pageUnits(now.db), old.db),
    ...truncations("db", old.db, now.db),
    ...truncations("wal", old.wal, now.wal),
  ];
}

interface FileUnit {
  readonly at: number;
  readonly bytes: Buffer;
}

function pageUnits(file: Buffer | null): readonly FileUnit[] {
  return file === null ? [] : sliceUnits(file, 0, PAGE);
}

function logUnits(log: Buffer | null): readonly FileUnit[] {
  if (log === null || log.length === 0) return [];
  return [{ at: 0, bytes: log.subarray(0, LOG_HEAD) }, ...sliceUnits(log, LOG_HEAD, FRAME)];
}

function sliceUnits(file: Buffer, from: number, size: number): readonly FileUnit[] {
  const units: FileUnit[] = [];
  for (let at = from; at < file.length; at += size) units.push({ at, bytes: file.subarray(at, at + size) });
  return units;
}

function changedUnits(file: keyof StoreBytes, units: readonly FileUnit[], old: Buffer | null): readonly FileWrite[] {
  const changed = units.filter(({ at, bytes }) => old === null || !old.subarray(at, at + bytes.length).equals(bytes));
  return changed.map((unit) => ({ file, ...unit }));
}

function truncations(file: keyof StoreBytes, old: Buffer | null, now: Buffer | null): readonly FileWrite[] {
  const end = now?.length ?? 0;
  return (old?.length ?? 0) > end ? [{ file, end }] : [];
}
