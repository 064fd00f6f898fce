import { hash, randomBytes } from "node:crypto";
import { constants } from "node:fs";
import type { JsonObject } from "../../core/json/json.ts";
import { type Disk, isFull, readUpTo, writeAll } from "./disk.ts";

/** One record: what it says, and the bytes that go with it. */
export interface FileRecord<Head extends JsonObject = JsonObject> {
  readonly head: Head;
  /** Where it begins, and where its bytes are in the file. */
  readonly from: number;
  readonly at: number;
  readonly bytes: number;
}

/**
 * 4 bytes of the head's length, 6 of the bytes'; the head; 16 of a sum over these; the bytes. The sum begins with what the file
 * begins with and nobody knows: content of a tool's making that was left half written is never taken for a record.
 */
const saltBytes = 16;
const lengthsBytes = 10;
const sumBytes = 16;
const headMax = 16_777_216;

/** What was to be kept was another thing in the end than in the beginning. */
export class Torn extends Error {}

/** A file of records that only grows. A record that was not written to its end, and all after it, is not there. */
export class RecordFile {
  readonly #disk: Disk;
  readonly #file: number;
  /** How much of it is made ready at a time: a sync that does not have to tell a new length takes half as long. */
  readonly #step: number;
  readonly #salt: Buffer;
  #length = saltBytes;
  #room = 0;
  #broken = false;

  private constructor(disk: Disk, file: number, step: number) {
    this.#disk = disk;
    this.#file = file;
    this.#step = step;
    const found = readUpTo(disk, file, saltBytes, 0);
    this.#salt = found.length === saltBytes ? found : randomBytes(saltBytes);
    if (this.#salt !== found) writeAll(disk, file, this.#salt, 0);
  }

  static create(disk: Disk, path: string, step = 0): RecordFile {
    const { O_CREAT, O_EXCL, O_RDWR } = constants;
    return new RecordFile(disk, disk.openSync(path, O_RDWR | O_CREAT | O_EXCL, 0o600), step);
  }

  /** To be read with `more`, and written on after its last whole record. */
  static open(disk: Disk, path: string, step = 0): RecordFile {
    return new RecordFile(disk, disk.openSync(path, constants.O_RDWR), step);
  }

  get length(): number {
    return this.#length;
  }

  /** Which file it is, whatever its name is given to. */
  get ino(): number {
    return this.#disk.fstatSync(this.#file).ino;
  }

  /** The whole records that were not read or written here before. */
  more(): readonly FileRecord[] {
    const records = [...this.#recordsIn()];
    const last = records.at(-1);
    if (last === undefined) return records;
    this.#length = last.at + last.bytes;
    this.#room = 0;
    return records;
  }

  /** What is behind a place is not there: a record that was not finished must not be taken for one later. */
  cutTo(length: number): void {
    this.#length = length;
    if (this.#disk.fstatSync(this.#file).size > length) this.#disk.ftruncateSync(this.#file, length);
    this.#room = length;
  }

  /** Nothing of another's making is behind the last record, but what was made ready here. */
  cutIfDirty(): void {
    const isReady =
      this.#room >= this.#length && !readUpTo(this.#disk, this.#file, lengthsBytes, this.#length).some(Boolean);
    if (!isReady) this.cutTo(this.#length);
  }

  /** Not on disk before `sync`. If there is no room for all of it, none of it is kept. */
  append(head: JsonObject, bytes: Uint8Array = new Uint8Array()): FileRecord {
    if (this.#broken) throw new Error("the record file could not be written before");
    const start = this.#framed(head, bytes.length);
    this.#makeReady(this.#length + start.length + bytes.length);
    try {
      writeAll(this.#disk, this.#file, Buffer.concat([start, bytes]), this.#length);
    } catch (error) {
      this.#cut();
      throw error;
    }
    const from = this.#length;
    const at = from + start.length;
    this.#length = at + bytes.length;
    return { head, from, at, bytes: bytes.length };
  }

  /** The bytes come piece by piece, and must be as many as was said. */
  appendFrom(head: JsonObject, length: number, chunks: Iterable<Uint8Array>): FileRecord {
    const { at } = this.append(head);
    const start = this.#framed(head, length);
    let done = 0;
    try {
      for (const chunk of chunks) {
        writeAll(this.#disk, this.#file, chunk, at + done);
        done += chunk.length;
      }
      if (done !== length) throw new Torn(`${length} bytes were announced and ${done} came`);
      // Its lengths last: until then it is a record without bytes, and nothing follows it.
      writeAll(this.#disk, this.#file, start, at - start.length);
    } catch (error) {
      this.#length = at - start.length;
      this.#cut();
      throw error;
    }
    this.#length = at + length;
    return { head, from: at - start.length, at, bytes: length };
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

  #makeReady(end: number): void {
    if (this.#step === 0 || end <= this.#room) return;
    try {
      writeAll(this.#disk, this.#file, Buffer.alloc(this.#step), end);
      this.#room = end + this.#step;
    } catch (error) {
      // It may still fit.
      if (!isFull(error)) throw error;
    }
  }

  #cut(): void {
    try {
      this.cutTo(this.#length);
    } catch {
      this.#broken = true;
    }
  }

  #framed(head: JsonObject, bytes: number): Buffer {
    const text = Buffer.from(JSON.stringify(head));
    const lengths = Buffer.alloc(lengthsBytes);
    lengths.writeUInt32BE(text.length, 0);
    lengths.writeUIntBE(bytes, 4, 6);
    const front = Buffer.concat([lengths, text]);
    return Buffer.concat([front, this.#sumOf(front)]);
  }

  #sumOf(front: Uint8Array): Buffer {
    return hash("sha256", Buffer.concat([this.#salt, front]), "buffer").subarray(0, sumBytes);
  }

  /** The heads of all whole records that are new, in order; their bytes are not read. */
  *#recordsIn(): Generator<FileRecord> {
    const { size } = this.#disk.fstatSync(this.#file);
    for (let at = this.#length; at + lengthsBytes + sumBytes <= size; ) {
      const lengths = readUpTo(this.#disk, this.#file, lengthsBytes, at);
      const [head, bytes] = [lengths.readUInt32BE(0), lengths.readUIntBE(4, 6)];
      const end = at + lengthsBytes + head + sumBytes;
      if (head === 0 || head > headMax || end + bytes > size) return;
      const front = readUpTo(this.#disk, this.#file, end - at, at);
      const text = front.subarray(0, -sumBytes);
      if (!this.#sumOf(text).equals(front.subarray(-sumBytes))) return;
      yield { head: JSON.parse(text.subarray(lengthsBytes).toString()) as JsonObject, from: at, at: end, bytes };
      at = end + bytes;
    }
  }
}
