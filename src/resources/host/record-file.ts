import { hash, randomBytes } from "node:crypto";
import { constants } from "node:fs";
import type { JsonObject } from "../../core/values/json.ts";
import { type Disk, isDiskFull, readUpTo, writeAll } from "./disk.ts";

/** One record: a JSON head and optional bytes. */
export interface FileRecord<Head extends JsonObject = JsonObject> {
  readonly head: Head;
  /** Offsets in the file: `from` is the start of the record, `at` the start of its bytes. */
  readonly from: number;
  readonly at: number;
  readonly bytes: number;
}

/**
 * A record is: 4 bytes for the length of the head, 6 bytes for the length of the content, the head, a checksum of 16
 * bytes over these, and the content. The checksum includes the random salt at the start of the file, so that content
 * written by a tool can never pass for a record after a torn write.
 */
const saltBytes = 16;
const lengthsBytes = 10;
const checksumBytes = 16;
const headMax = 16_777_216;

/** The content changed between two reads. */
export class ContentChangedError extends Error {}

/** An append-only file of records. A reader ignores the first incomplete record and everything after it. */
export class RecordFile {
  readonly #disk: Disk;
  readonly #file: number;
  /** The file grows in steps of this size: a sync that does not change the file length takes half as long. */
  readonly #preallocateStep: number;
  readonly #salt: Buffer;
  #length = saltBytes;
  #allocated = 0;
  #isBroken = false;

  private constructor(disk: Disk, file: number, step: number) {
    this.#disk = disk;
    this.#file = file;
    this.#preallocateStep = step;
    const found = readUpTo(disk, file, saltBytes, 0);
    this.#salt = found.length === saltBytes ? found : randomBytes(saltBytes);
    if (this.#salt !== found) writeAll(disk, file, this.#salt, 0);
  }

  static create(disk: Disk, path: string, step = 0): RecordFile {
    const { O_CREAT, O_EXCL, O_RDWR } = constants;
    return new RecordFile(disk, disk.openSync(path, O_RDWR | O_CREAT | O_EXCL, 0o600), step);
  }

  /** Opens a file to read it with `readNew`; appends go after the last complete record. */
  static open(disk: Disk, path: string, step = 0): RecordFile {
    return new RecordFile(disk, disk.openSync(path, constants.O_RDWR), step);
  }

  get length(): number {
    return this.#length;
  }

  /** The inode, which identifies the file even if its name is reused. */
  get ino(): number {
    return this.#disk.fstatSync(this.#file).ino;
  }

  /** Returns the complete records that this instance has not read or written before. */
  readNew(): readonly FileRecord[] {
    const records = [...this.#newRecords()];
    const last = records.at(-1);
    if (last === undefined) return records;
    this.#length = last.at + last.bytes;
    this.#allocated = 0;
    return records;
  }

  /** Discards everything after an offset, so that an incomplete record is never read as a complete one later. */
  truncateTo(length: number): void {
    this.#length = length;
    if (this.#disk.fstatSync(this.#file).size > length) this.#disk.ftruncateSync(this.#file, length);
    this.#allocated = length;
  }

  /** Truncates the file after the last record unless only space that this instance allocated follows. */
  truncateIfDirty(): void {
    const isReady =
      this.#allocated >= this.#length && !readUpTo(this.#disk, this.#file, lengthsBytes, this.#length).some(Boolean);
    if (!isReady) this.truncateTo(this.#length);
  }

  /** Appends a record, which is durable after `sync`. If the disk is full, nothing of it remains. */
  append(head: JsonObject, bytes: Uint8Array = new Uint8Array()): FileRecord {
    if (this.#isBroken) throw new Error("an earlier write to the record file failed");
    const header = this.#encodeHeader(head, bytes.length);
    this.#preallocate(this.#length + header.length + bytes.length);
    try {
      writeAll(this.#disk, this.#file, Buffer.concat([header, bytes]), this.#length);
    } catch (error) {
      this.#discardTail();
      throw error;
    }
    const from = this.#length;
    const at = from + header.length;
    this.#length = at + bytes.length;
    return { head, from, at, bytes: bytes.length };
  }

  /** Appends a record whose bytes come in pieces. Throws if their number is not `length`. */
  appendFrom(head: JsonObject, length: number, chunks: Iterable<Uint8Array>): FileRecord {
    const { at } = this.append(head);
    const header = this.#encodeHeader(head, length);
    let done = 0;
    try {
      for (const chunk of chunks) {
        writeAll(this.#disk, this.#file, chunk, at + done);
        done += chunk.length;
      }
      if (done !== length) throw new ContentChangedError(`expected ${length} bytes, got ${done}`);
      // The header is written last: until then the record has no bytes and nothing follows it.
      writeAll(this.#disk, this.#file, header, at - header.length);
    } catch (error) {
      this.#length = at - header.length;
      this.#discardTail();
      throw error;
    }
    this.#length = at + length;
    return { head, from: at - header.length, at, bytes: length };
  }

  read({ at, bytes }: Pick<FileRecord, "at" | "bytes">, from = 0, most = bytes): Buffer {
    return readUpTo(this.#disk, this.#file, Math.min(most, bytes - from), at + from);
  }

  sync(): void {
    this.#disk.fdatasyncSync(this.#file);
  }

  close(): void {
    this.#disk.closeSync(this.#file);
  }

  #preallocate(end: number): void {
    if (this.#preallocateStep === 0 || end <= this.#allocated) return;
    try {
      writeAll(this.#disk, this.#file, Buffer.alloc(this.#preallocateStep), end);
      this.#allocated = end + this.#preallocateStep;
    } catch (error) {
      // The record may still fit without the extra space.
      if (!isDiskFull(error)) throw error;
    }
  }

  #discardTail(): void {
    try {
      this.truncateTo(this.#length);
    } catch {
      this.#isBroken = true;
    }
  }

  #encodeHeader(head: JsonObject, bytes: number): Buffer {
    const text = Buffer.from(JSON.stringify(head));
    const lengths = Buffer.alloc(lengthsBytes);
    lengths.writeUInt32BE(text.length, 0);
    lengths.writeUIntBE(bytes, 4, 6);
    const prefix = Buffer.concat([lengths, text]);
    return Buffer.concat([prefix, this.#checksumOf(prefix)]);
  }

  #checksumOf(prefix: Uint8Array): Buffer {
    return hash("sha256", Buffer.concat([this.#salt, prefix]), "buffer").subarray(0, checksumBytes);
  }

  /** Yields all complete new records in order, without reading their bytes. */
  *#newRecords(): Generator<FileRecord> {
    const { size } = this.#disk.fstatSync(this.#file);
    for (let at = this.#length; at + lengthsBytes + checksumBytes <= size; ) {
      const lengths = readUpTo(this.#disk, this.#file, lengthsBytes, at);
      const [head, bytes] = [lengths.readUInt32BE(0), lengths.readUIntBE(4, 6)];
      const end = at + lengthsBytes + head + checksumBytes;
      if (head === 0 || head > headMax || end + bytes > size) return;
      const prefix = readUpTo(this.#disk, this.#file, end - at, at);
      const text = prefix.subarray(0, -checksumBytes);
      if (!this.#checksumOf(text).equals(prefix.subarray(-checksumBytes))) return;
      yield { head: JSON.parse(text.subarray(lengthsBytes).toString()) as JsonObject, from: at, at: end, bytes };
      at = end + bytes;
    }
  }
}
