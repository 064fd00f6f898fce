import { hash } from "node:crypto";
import { constants } from "node:fs";
import type { JsonObject } from "../../core/json.ts";
import { type Disk, readUpTo, writeAll } from "./disk.ts";

/** One record: what it says, and the bytes that go with it. */
export interface FileRecord<Head extends JsonObject = JsonObject> {
  readonly head: Head;
  /** Where its bytes are in the file. */
  readonly at: number;
  readonly bytes: number;
}

/** 4 bytes of the head's length, 6 of the bytes'; the head; 16 of a sum over these; the bytes. */
const lengthsBytes = 10;
const sumBytes = 16;
const headMax = 16_777_216;

/** A file of records that only grows. A record that was not written to its end, and all after it, is not there. */
export class RecordFile {
  readonly #disk: Disk;
  readonly #file: number;
  #length: number;
  #broken = false;

  private constructor(disk: Disk, file: number, length: number) {
    this.#disk = disk;
    this.#file = file;
    this.#length = length;
  }

  static create(disk: Disk, path: string): RecordFile {
    const { O_CREAT, O_EXCL, O_RDWR } = constants;
    return new RecordFile(disk, disk.openSync(path, O_RDWR | O_CREAT | O_EXCL, 0o600), 0);
  }

  /** To be read, and written on after its last whole record. */
  static open(disk: Disk, path: string): { readonly file: RecordFile; readonly records: readonly FileRecord[] } {
    const opened = disk.openSync(path, constants.O_RDWR);
    try {
      const records = [...recordsIn(disk, opened)];
      const last = records.at(-1);
      const length = last === undefined ? 0 : last.at + last.bytes;
      return { file: new RecordFile(disk, opened, length), records };
    } catch (error) {
      disk.closeSync(opened);
      throw error;
    }
  }

  get length(): number {
    return this.#length;
  }

  /** Not on disk before `sync`. If there is no room for all of it, none of it is kept. */
  append(head: JsonObject, bytes: Uint8Array = new Uint8Array()): FileRecord {
    if (this.#broken) throw new Error("the record file could not be written before");
    const start = framed(head, bytes.length);
    try {
      writeAll(this.#disk, this.#file, Buffer.concat([start, bytes]), this.#length);
    } catch (error) {
      this.#cut();
      throw error;
    }
    const at = this.#length + start.length;
    this.#length = at + bytes.length;
    return { head, at, bytes: bytes.length };
  }

  /** The bytes come piece by piece, and must be as many as was said. */
  appendFrom(head: JsonObject, length: number, chunks: Iterable<Uint8Array>): FileRecord {
    const { at } = this.append(head);
    const start = framed(head, length);
    let done = 0;
    try {
      for (const chunk of chunks) {
        writeAll(this.#disk, this.#file, chunk, at + done);
        done += chunk.length;
      }
      if (done !== length) throw new Error(`${length} bytes were announced and ${done} came`);
      // Its lengths last: until then it is a record without bytes, and nothing follows it.
      writeAll(this.#disk, this.#file, start, at - start.length);
    } catch (error) {
      this.#length = at - start.length;
      this.#cut();
      throw error;
    }
    this.#length = at + length;
    return { head, at, bytes: length };
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

  #cut(): void {
    try {
      this.#disk.ftruncateSync(this.#file, this.#length);
    } catch {
      this.#broken = true;
    }
  }
}

function framed(head: JsonObject, bytes: number): Buffer {
  const text = Buffer.from(JSON.stringify(head));
  const lengths = Buffer.alloc(lengthsBytes);
  lengths.writeUInt32BE(text.length, 0);
  lengths.writeUIntBE(bytes, 4, 6);
  const front = Buffer.concat([lengths, text]);
  return Buffer.concat([front, sumOf(front)]);
}

function sumOf(front: Uint8Array): Buffer {
  return hash("sha256", front, "buffer").subarray(0, sumBytes);
}

/** The heads of all whole records, in order; their bytes are not read. */
function* recordsIn(disk: Disk, file: number): Generator<FileRecord> {
  const { size } = disk.fstatSync(file);
  for (let at = 0; at + lengthsBytes + sumBytes <= size; ) {
    const lengths = readUpTo(disk, file, lengthsBytes, at);
    const [head, bytes] = [lengths.readUInt32BE(0), lengths.readUIntBE(4, 6)];
    const end = at + lengthsBytes + head + sumBytes;
    if (head > headMax || end + bytes > size) return;
    const front = readUpTo(disk, file, end - at, at);
    const text = front.subarray(0, -sumBytes);
    if (!sumOf(text).equals(front.subarray(-sumBytes))) return;
    yield { head: JSON.parse(text.subarray(lengthsBytes).toString()) as JsonObject, at: end, bytes };
    at = end + bytes;
  }
}
