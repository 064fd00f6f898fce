import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { FaultError, fault } from "../../core/fault.ts";
import type { Digest } from "../../core/id.ts";
import type { JsonObject } from "../../core/json/json.ts";
import { type Disk, errorCode, syncDirectory } from "./disk.ts";
import type { LoggedRecord, LogRecord } from "./log-record.ts";
import { checked, hashOf } from "./object-store.ts";
import { type FileRecord, RecordFile } from "./record-file.ts";

const pieceBytes = 8_388_608;
/** Made ready at a time. */
const readyBytes = 262_144;
const unfinished = ".new";

/** A record, and the call that it is of. */
export interface Entry {
  readonly id: string;
  readonly logged: LoggedRecord;
}

interface Content {
  readonly place: Pick<FileRecord, "at" | "bytes">;
  /** It was written, or looked at, by this process. */
  isSure: boolean;
}

/**
 * What all calls must know to be undone, in one file: what one call writes is on disk with one sync, and with it all that was written
 * before. A content that is in it is not written again. Whoever reads or writes has the right to the tree.
 */
export class CaptureFile {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #path: string;
  readonly #contents = new Map<Digest, Content>();
  #file: RecordFile;

  constructor(disk: Disk, folder: string) {
    this.#disk = disk;
    this.#folder = folder;
    this.#path = join(folder, "captures");
    this.#file = this.#opened();
  }

  get length(): number {
    return this.#file.length;
  }

  /** What was written since by others. `isAnew`: somebody has rewritten it, and this is all there is. */
  more(): { readonly isAnew: boolean; readonly entries: readonly Entry[] } {
    const isAnew = this.#disk.lstatSync(this.#path, { throwIfNoEntry: false })?.ino !== this.#file.ino;
    if (isAnew) {
      this.#file.close();
      this.#contents.clear();
      this.#file = this.#opened();
    }
    return { isAnew, entries: this.#read() };
  }

  append(id: string, record: LogRecord, bytes?: Uint8Array): LoggedRecord {
    const digest = digestIn(record);
    if (digest === null || bytes === undefined || this.#holds(digest))
      return { record, at: this.#file.append(headOf(id, record)) };
    const at = this.#file.append(headOf(id, record), bytes);
    this.#contents.set(digest, { place: at, isSure: true });
    return { record, at };
  }

  appendFrom(id: string, record: LogRecord, length: number, chunks: Iterable<Uint8Array>): LoggedRecord {
    const digest = digestIn(record);
    if (digest === null || this.#holds(digest)) return { record, at: this.#file.append(headOf(id, record)) };
    const at = this.#file.appendFrom(headOf(id, record), length, checked(chunks, digest));
    this.#contents.set(digest, { place: at, isSure: true });
    return { record, at };
  }

  /** The content that a record tells of. It is looked at first: one that is damaged is never handed out. */
  content(digest: Digest, size: number): Iterable<Uint8Array> {
    if (size === 0) return [];
    const content = this.#contents.get(digest);
    if (content === undefined || !this.#holds(digest)) throw damaged(digest);
    return this.#pieces(content.place);
  }

  sync(): void {
    this.#file.sync();
  }

  close(): void {
    this.#file.close();
  }

  /** Writes anew what these entries need, and nothing else. Until it is in place, all is as it was. */
  rewrite(entries: Iterable<Entry>): void {
    const place = this.#beside();
    const written = RecordFile.create(this.#disk, place, readyBytes);
    const done = new Set<Digest>();
    try {
      for (const { id, logged } of entries) {
        const digest = digestIn(logged.record);
        const wanted = digest === null || done.has(digest) ? undefined : this.#contents.get(digest);
        if (wanted === undefined) written.append(headOf(id, logged.record));
        else written.appendFrom(headOf(id, logged.record), wanted.place.bytes, this.#pieces(wanted.place));
        if (digest !== null) done.add(digest);
      }
      written.sync();
      this.#disk.renameSync(place, this.#path);
    } finally {
      written.close();
      if (this.#disk.lstatSync(place, { throwIfNoEntry: false }) !== undefined) this.#disk.unlinkSync(place);
    }
    syncDirectory(this.#disk, this.#folder);
  }

  /** What somebody died at before it was in place. */
  clearUnfinished(): void {
    for (const name of this.#disk.readdirSync(this.#folder))
      if (name.endsWith(unfinished)) this.#disk.unlinkSync(join(this.#folder, name));
  }

  /** Whatever was not written to its end is cut off: it was never acted upon. */
  #read(): readonly Entry[] {
    const records = this.#file.more();
    const entries = records.map(({ head, from, at, bytes }): Entry => {
      const { of, ...record } = head;
      // What stands in the file was written by `append`.
      return { id: String(of), logged: { record: record as unknown as LogRecord, at: { from, at, bytes } } };
    });
    for (const { logged } of entries) this.#index(logged);
    const last = entries.at(-1);
    const isTorn = last !== undefined && !this.#isWhole(last.logged);
    if (isTorn) this.#file.cutTo(last.logged.at.from);
    else this.#file.cutIfDirty();
    return isTorn ? entries.slice(0, -1) : entries;
  }

  #index({ record, at }: LoggedRecord): void {
    const digest = digestIn(record);
    if (digest !== null && at.bytes > 0) this.#contents.set(digest, { place: at, isSure: false });
  }

  /** Only the last of all can have been left without its bytes: whatever comes after one was written when it was on disk. */
  #isWhole({ record }: LoggedRecord): boolean {
    const digest = digestIn(record);
    return digest === null || this.#holds(digest);
  }

  #holds(digest: Digest): boolean {
    const content = this.#contents.get(digest);
    if (content === undefined) return false;
    content.isSure ||= hashOf(this.#pieces(content.place)) === digest;
    if (!content.isSure) this.#contents.delete(digest);
    return content.isSure;
  }

  *#pieces({ at, bytes }: Pick<FileRecord, "at" | "bytes">): Generator<Uint8Array> {
    for (let from = 0; from < bytes; from += pieceBytes) yield this.#file.read({ at, bytes }, from, pieceBytes);
  }

  /** What it is called until it is in place. */
  #beside(): string {
    return `${this.#path}.${randomBytes(6).toString("hex")}${unfinished}`;
  }

  #opened(): RecordFile {
    try {
      return RecordFile.open(this.#disk, this.#path, readyBytes);
    } catch (error) {
      if (errorCode(error) !== "ENOENT") throw error;
    }
    // Under its name it is there as a whole, or not at all.
    const place = this.#beside();
    RecordFile.create(this.#disk, place).close();
    try {
      this.#disk.linkSync(place, this.#path);
      this.#disk.unlinkSync(place);
    } catch (error) {
      // Somebody else was quicker, or has cleared it away.
      if (!["EEXIST", "ENOENT"].includes(errorCode(error))) throw error;
    }
    syncDirectory(this.#disk, this.#folder);
    return this.#opened();
  }
}

function headOf(id: string, record: LogRecord): JsonObject {
  return { of: id, ...record } as unknown as JsonObject;
}

/** Of a record that a content belongs to: null for all others, and where there is nothing in the file. */
function digestIn(record: LogRecord): Digest | null {
  return record.type === "was" && record.was.kind === "file" && record.was.size > 0 ? record.was.digest : null;
}

function damaged(digest: Digest): FaultError {
  return new FaultError(fault("RESTORE_FAILED", `the content ${digest} that was kept is damaged; nothing was touched`));
}
