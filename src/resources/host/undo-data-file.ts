import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Digest } from "../../core/values/ids.ts";
import type { JsonObject } from "../../core/values/json.ts";
import type { CaptureRecord, LoggedRecord } from "./capture-record.ts";
import { type Disk, errorCode, syncDirectory } from "./disk.ts";
import { hashChunks, verifyChunks } from "./object-store.ts";
import { type FileRecord, RecordFile } from "./record-file.ts";

const pieceBytes = 8_388_608;
/** The file grows in steps of this size. */
const preallocateBytes = 262_144;
const temporarySuffix = ".new";

/** A record and the id of its call. */
export interface CaptureEntry {
  readonly id: string;
  readonly logged: LoggedRecord;
}

interface Content {
  readonly place: Pick<FileRecord, "at" | "bytes">;
  /** True if this process wrote or verified the content. */
  isVerified: boolean;
}

/**
 * The undo data of all calls in one file, so that one sync makes the data of a call and everything before it durable. A
 * content that the file contains is not written again. The caller holds the lock of the tree.
 */
export class UndoDataFile {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #path: string;
  readonly #contents = new Map<Digest, Content>();
  #file: RecordFile;

  constructor(disk: Disk, folder: string) {
    this.#disk = disk;
    this.#folder = folder;
    this.#path = join(folder, "captures");
    this.#file = this.#openFile();
  }

  get length(): number {
    return this.#file.length;
  }

  /**
   * Returns the entries that other processes appended. `isReplaced`: another process has rewritten the file, and these
   * are all entries.
   */
  readNew(): { readonly isReplaced: boolean; readonly entries: readonly CaptureEntry[] } {
    const isReplaced = this.#disk.lstatSync(this.#path, { throwIfNoEntry: false })?.ino !== this.#file.ino;
    if (isReplaced) {
      this.#file.close();
      this.#contents.clear();
      this.#file = this.#openFile();
    }
    return { isReplaced, entries: this.#readRecords() };
  }

  append(id: string, record: CaptureRecord, bytes?: Uint8Array): LoggedRecord {
    const digest = contentDigest(record);
    if (digest === null || bytes === undefined || this.#hasIntact(digest))
      return { record, at: this.#file.append(recordHead(id, record)) };
    const at = this.#file.append(recordHead(id, record), bytes);
    this.#contents.set(digest, { place: at, isVerified: true });
    return { record, at };
  }

  appendFrom(id: string, record: CaptureRecord, length: number, chunks: Iterable<Uint8Array>): LoggedRecord {
    const digest = contentDigest(record);
    if (digest === null || this.#hasIntact(digest)) return { record, at: this.#file.append(recordHead(id, record)) };
    const at = this.#file.appendFrom(recordHead(id, record), length, verifyChunks(chunks, digest));
    this.#contents.set(digest, { place: at, isVerified: true });
    return { record, at };
  }

  /** Returns the content of a record. Verifies it first, so that a damaged content is never returned. */
  content(digest: Digest, size: number): Iterable<Uint8Array> {
    if (size === 0) return [];
    const content = this.#contents.get(digest);
    if (content === undefined || !this.#hasIntact(digest)) throw damagedFault(digest);
    return this.#pieces(content.place);
  }

  sync(): void {
    this.#file.sync();
  }

  close(): void {
    this.#file.close();
  }

  /**
   * Writes a new file with only these entries and their contents, then replaces the old one. A crash before the rename
   * leaves the old file in place.
   */
  rewrite(entries: Iterable<CaptureEntry>): void {
    const place = this.#temporaryPath();
    const written = RecordFile.create(this.#disk, place, preallocateBytes);
    const done = new Set<Digest>();
    try {
      for (const { id, logged } of entries) {
        const digest = contentDigest(logged.record);
        const wanted = digest === null || done.has(digest) ? undefined : this.#contents.get(digest);
        if (wanted === undefined) written.append(recordHead(id, logged.record));
        else written.appendFrom(recordHead(id, logged.record), wanted.place.bytes, this.#pieces(wanted.place));
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

  /** Removes temporary files of processes that died before the rename. */
  removeTemporaryFiles(): void {
    for (const name of this.#disk.readdirSync(this.#folder))
      if (name.endsWith(temporarySuffix)) this.#disk.unlinkSync(join(this.#folder, name));
  }

  /**
   * Reads new records and cuts off an incomplete one. The writer cannot have acted on it, because it syncs a record
   * before it acts.
   */
  #readRecords(): readonly CaptureEntry[] {
    const records = this.#file.readNew();
    const entries = records.map(({ head, from, at, bytes }): CaptureEntry => {
      const { of, ...record } = head;
      // `append` wrote every record of the file.
      return { id: String(of), logged: { record: record as unknown as CaptureRecord, at: { from, at, bytes } } };
    });
    for (const { logged } of entries) this.#indexContent(logged);
    const last = entries.at(-1);
    const isTorn = last !== undefined && !this.#isComplete(last.logged);
    if (isTorn) this.#file.truncateTo(last.logged.at.from);
    else this.#file.truncateIfDirty();
    return isTorn ? entries.slice(0, -1) : entries;
  }

  #indexContent({ record, at }: LoggedRecord): void {
    const digest = contentDigest(record);
    if (digest !== null && at.bytes > 0) this.#contents.set(digest, { place: at, isVerified: false });
  }

  /** Only the last record can lack its bytes: each record is written after the one before it is complete. */
  #isComplete({ record }: LoggedRecord): boolean {
    const digest = contentDigest(record);
    return digest === null || this.#hasIntact(digest);
  }

  #hasIntact(digest: Digest): boolean {
    const content = this.#contents.get(digest);
    if (content === undefined) return false;
    content.isVerified ||= hashChunks(this.#pieces(content.place)) === digest;
    if (!content.isVerified) this.#contents.delete(digest);
    return content.isVerified;
  }

  *#pieces({ at, bytes }: Pick<FileRecord, "at" | "bytes">): Generator<Uint8Array> {
    for (let from = 0; from < bytes; from += pieceBytes) yield this.#file.read({ at, bytes }, from, pieceBytes);
  }

  /** The path of a new file until it is complete. */
  #temporaryPath(): string {
    return `${this.#path}.${randomBytes(6).toString("hex")}${temporarySuffix}`;
  }

  #openFile(): RecordFile {
    try {
      return RecordFile.open(this.#disk, this.#path, preallocateBytes);
    } catch (error) {
      if (errorCode(error) !== "ENOENT") throw error;
    }
    // Created under a temporary name and then linked, so that the file is never half written under its name.
    const place = this.#temporaryPath();
    RecordFile.create(this.#disk, place).close();
    try {
      this.#disk.linkSync(place, this.#path);
      this.#disk.unlinkSync(place);
    } catch (error) {
      // Another process linked the file first, or removed the temporary one.
      if (!["EEXIST", "ENOENT"].includes(errorCode(error))) throw error;
    }
    syncDirectory(this.#disk, this.#folder);
    return this.#openFile();
  }
}

function recordHead(id: string, record: CaptureRecord): JsonObject {
  return { of: id, ...record } as unknown as JsonObject;
}

/** Returns the digest of a record with content in the file, or null. */
function contentDigest(record: CaptureRecord): Digest | null {
  return record.type === "was" && record.was.kind === "file" && record.was.size > 0 ? record.was.digest : null;
}

function damagedFault(digest: Digest): FaultError {
  return new FaultError(fault("RESTORE_FAILED", `the stored content ${digest} is damaged; nothing was restored`));
}
