import { existsSync, readFileSync, statSync } from "node:fs";
import type { Disk } from "./machine.ts";
import { storeFile, worldFile } from "./store-files.ts";

/** The bytes of a store: its file, and its log. Null: there is no such file. */
export interface Bytes {
  readonly db: Buffer | null;
  readonly wal: Buffer | null;
}

/** One write to one of the two files: bytes at a place, or a new end. */
export type Write = { readonly file: keyof Bytes } & (
  | { readonly at: number; readonly bytes: Buffer }
  | { readonly end: number }
);

/** What one transaction or checkpoint wrote, and how much the world had seen just before it and just after. */
export interface Turn {
  readonly writes: readonly Write[];
  readonly synced: boolean;
  readonly before: number;
  readonly after: number;
}

const PAGE = 4096;
const LOG_HEAD = 32;
const FRAME_HEAD = 24;
const FRAME = FRAME_HEAD + PAGE;

/**
 * Takes down what happens to the files of one store, in the order in which SQLite writes it: frames into the log, one after
 * the other; at a checkpoint pages into the file; and then the log is cut. What each is made of follows from how the files
 * look before and after, since nothing else writes them.
 */
export class Tape implements Disk {
  readonly first: Bytes;
  /** How much the world had seen before. */
  readonly begun: number;
  readonly turns: Turn[] = [];
  readonly #folder: string;
  #last: Bytes;
  #before = 0;
  #running = true;

  constructor(folder: string) {
    this.#folder = folder;
    this.first = bytesIn(folder);
    this.begun = seenIn(folder);
    this.#last = this.first;
  }

  writing(): void {
    this.#before = seenIn(this.#folder);
  }

  written(synced: boolean): void {
    if (!this.#running) return;
    const now = bytesIn(this.#folder);
    const writes = between(this.#last, now);
    this.#last = now;
    if (writes.length > 0) this.turns.push({ writes, synced, before: this.#before, after: seenIn(this.#folder) });
  }

  stop(): void {
    this.#running = false;
  }
}

/** How many bytes the world's own record has. */
function seenIn(folder: string): number {
  const world = worldFile(folder);
  return existsSync(world) ? statSync(world).size : 0;
}

function bytesIn(folder: string): Bytes {
  const read = (file: string) => (existsSync(file) ? readFileSync(file) : null);
  return { db: read(storeFile(folder)), wal: read(`${storeFile(folder)}-wal`) };
}

/** The writes that lead from one state to the next. */
function between(old: Bytes, now: Bytes): readonly Write[] {
  return [
    ...changed("wal", logUnits(now.wal), old.wal),
    ...changed("db", pages(now.db), old.db),
    ...cut("db", old.db, now.db),
    ...cut("wal", old.wal, now.wal),
  ];
}

interface Unit {
  readonly at: number;
  readonly bytes: Buffer;
}

function pages(file: Buffer | null): readonly Unit[] {
  return file === null ? [] : slices(file, 0, PAGE);
}

function logUnits(log: Buffer | null): readonly Unit[] {
  if (log === null || log.length === 0) return [];
  return [{ at: 0, bytes: log.subarray(0, LOG_HEAD) }, ...slices(log, LOG_HEAD, FRAME)];
}

function slices(file: Buffer, from: number, size: number): readonly Unit[] {
  const units: Unit[] = [];
  for (let at = from; at < file.length; at += size) units.push({ at, bytes: file.subarray(at, at + size) });
  return units;
}

function changed(file: keyof Bytes, units: readonly Unit[], old: Buffer | null): readonly Write[] {
  const fresh = units.filter(({ at, bytes }) => old === null || !old.subarray(at, at + bytes.length).equals(bytes));
  return fresh.map((unit) => ({ file, ...unit }));
}

function cut(file: keyof Bytes, old: Buffer | null, now: Buffer | null): readonly Write[] {
  const end = now?.length ?? 0;
  return (old?.length ?? 0) > end ? [{ file, end }] : [];
}
