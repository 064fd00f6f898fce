import { createHash, hash } from "node:crypto";
import { join } from "node:path";
import { FaultError, fault } from "../../core/fault.ts";
import type { Digest } from "../../core/id.ts";
import { type Disk, errorCode, readUpTo, syncDirectory } from "./disk.ts";
import { type FileRecord, RecordFile } from "./record-file.ts";

/** Above this, a file is read piece by piece. */
const wholeBytes = 8_388_608;
const packBytes = 268_435_456;

interface Place {
  readonly pack: RecordFile;
  readonly record: Pick<FileRecord, "from" | "at" | "bytes">;
}

/**
 * Contents by their SHA-256. They are appended to packs, so that ten thousand files take one sync and not ten thousand. What is
 * read is hashed again: a content that is not what its name says is never handed out.
 */
export class ObjectStore {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #places = new Map<string, Place>();
  readonly #packs = new Map<string, RecordFile>();
  #current: RecordFile | null = null;
  /** Something was written that is not on disk yet. */
  #unsynced = false;

  constructor(disk: Disk, folder: string) {
    this.#disk = disk;
    this.#folder = folder;
    disk.mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  /** Reads anew which contents there are. */
  load(): void {
    this.close();
    for (const name of this.#disk.readdirSync(this.#folder).toSorted()) this.#load(name);
  }

  /** Of all packs. */
  get bytes(): number {
    return [...this.#packs.values()].reduce((sum, { length }) => sum + length, 0);
  }

  has(digest: Digest): boolean {
    return this.#places.has(digest);
  }

  put(bytes: Uint8Array): Digest {
    const digest = hash("sha256", bytes) as Digest;
    if (!this.#places.has(digest)) {
      const pack = this.#pack();
      this.#places.set(digest, { pack, record: pack.append({ digest, size: bytes.length }, bytes) });
    }
    return digest;
  }

  /** Of an open file that has so many bytes. Null if it turns out to be another content than when it was looked at. */
  putFile(file: number, size: number): Digest | null {
    if (size <= wholeBytes) {
      const bytes = readUpTo(this.#disk, file, size + 1, 0);
      return bytes.length === size ? this.put(bytes) : null;
    }
    const digest = hashOf(this.chunksOf(file, size));
    if (this.#places.has(digest)) return digest;
    const sum = createHash("sha256");
    const pack = this.#pack();
    const record = pack.appendFrom({ digest, size }, size, tapped(this.chunksOf(file, size), sum.update.bind(sum)));
    if (sum.digest("hex") !== digest) return null;
    this.#places.set(digest, { pack, record });
    return digest;
  }

  /** What `putFile` would answer; nothing is kept. */
  hashFile(file: number, size: number): Digest {
    return hashOf(this.chunksOf(file, size));
  }

  /** The bytes of an open file, piece by piece, as many as it had when it was looked at. */
  *chunksOf(file: number, size: number): Generator<Uint8Array> {
    for (let at = 0; at < size; at += wholeBytes) yield readUpTo(this.#disk, file, Math.min(wholeBytes, size - at), at);
  }

  /** A content, piece by piece. Whoever uses it must not trust it before the last piece has come. */
  *read(digest: Digest): Generator<Uint8Array> {
    const place = this.#places.get(digest);
    if (place === undefined) throw lost(digest);
    const sum = createHash("sha256");
    for (const chunk of pieces(place.pack, place.record)) {
      sum.update(chunk);
      yield chunk;
    }
    if (sum.digest("hex") !== digest) throw lost(digest);
  }

  /** Everything that was put so far is on disk when this returns. */
  sync(): void {
    if (!this.#unsynced) return;
    this.#current?.sync();
    syncDirectory(this.#disk, this.#folder);
    this.#unsynced = false;
  }

  /** Drops packs of which nothing, or not half, is wanted any more; what is wanted of them moves to another. Answers how many. */
  sweep(wanted: ReadonlySet<string>): number {
    const used = new Map<RecordFile, number>();
    for (const [digest, { pack, record }] of this.#places)
      if (wanted.has(digest)) used.set(pack, (used.get(pack) ?? 0) + record.at - record.from + record.bytes);
    const wasteful = new Map([...this.#packs].filter(([, pack]) => (used.get(pack) ?? 0) < pack.length / 2));
    this.#move(wanted, new Set(wasteful.values()));
    for (const [name, pack] of wasteful) {
      this.#packs.delete(name);
      pack.close();
      this.#disk.unlinkSync(join(this.#folder, name));
    }
    return wasteful.size;
  }

  /** What is wanted is on disk in another pack before the old ones go. */
  #move(wanted: ReadonlySet<string>, from: ReadonlySet<RecordFile>): void {
    this.sync();
    this.#current = null;
    for (const [digest, { pack, record }] of this.#places) {
      if (!from.has(pack)) continue;
      this.#places.delete(digest);
      if (!wanted.has(digest)) continue;
      const to = this.#pack();
      const head = { digest, size: record.bytes };
      this.#places.set(digest, { pack: to, record: to.appendFrom(head, record.bytes, pieces(pack, record)) });
    }
    this.sync();
  }

  close(): void {
    for (const pack of this.#packs.values()) pack.close();
    this.#packs.clear();
    this.#places.clear();
    this.#current = null;
  }

  #load(name: string): void {
    const file = RecordFile.open(this.#disk, join(this.#folder, name));
    this.#packs.set(name, file);
    for (const record of file.more()) {
      const { digest, size } = record.head;
      // One whose bytes did not all come has fewer than it says.
      if (typeof digest === "string" && size === record.bytes) this.#places.set(digest, { pack: file, record });
    }
  }

  #pack(): RecordFile {
    if (this.#current !== null && this.#current.length > packBytes) {
      this.#current.sync();
      this.#current = null;
    }
    this.#current ??= this.#create(this.#packs.size);
    this.#unsynced = true;
    return this.#current;
  }

  #create(number: number): RecordFile {
    const name = `${String(number).padStart(8, "0")}.pack`;
    try {
      const pack = RecordFile.create(this.#disk, join(this.#folder, name));
      this.#packs.set(name, pack);
      return pack;
    } catch (error) {
      if (errorCode(error) === "EEXIST") return this.#create(number + 1);
      throw error;
    }
  }
}

function* pieces(pack: RecordFile, record: Place["record"]): Generator<Uint8Array> {
  for (let at = 0; at < record.bytes; at += wholeBytes) yield pack.read(record, at, wholeBytes);
}

export function hashOf(chunks: Iterable<Uint8Array>): Digest {
  const sum = createHash("sha256");
  for (const chunk of chunks) sum.update(chunk);
  return sum.digest("hex") as Digest;
}

function* tapped(chunks: Iterable<Uint8Array>, tap: (chunk: Uint8Array) => void): Generator<Uint8Array> {
  for (const chunk of chunks) {
    tap(chunk);
    yield chunk;
  }
}

function lost(digest: Digest): FaultError {
  return new FaultError(fault("RESTORE_FAILED", `the content ${digest} is not kept any more, or is damaged`));
}
