import { createHash, hash } from "node:crypto";
import { join } from "node:path";
import { FaultError, fault } from "../../core/fault.ts";
import type { Digest } from "../../core/id.ts";
import { type Disk, errorCode, readUpTo, syncDirectory } from "./disk.ts";
import { type FileRecord, RecordFile, Torn } from "./record-file.ts";

/** Above this, a file is read piece by piece. */
const wholeBytes = 8_388_608;
const packBytes = 268_435_456;

interface Place {
  readonly pack: RecordFile;
  readonly record: Pick<FileRecord, "from" | "at" | "bytes">;
}

/**
 * Contents by their SHA-256. They are appended to packs, so that ten thousand files take one sync and not ten thousand. What is
 * read is hashed again: a content that is not what its name says is never handed out. Whoever reads or writes has the right to the tree.
 */
export class ObjectStore {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #places = new Map<string, Place>();
  /** By name, the oldest first. */
  readonly #packs = new Map<string, RecordFile>();
  /** The one that is written to. */
  #current: RecordFile | null = null;
  /** Have something that may not be on disk yet. */
  readonly #unsynced = new Set<RecordFile>();

  constructor(disk: Disk, folder: string) {
    this.#disk = disk;
    this.#folder = folder;
    disk.mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  /** Reads what others have kept since. True: somebody has thrown something away, too. */
  refresh(): boolean {
    const names = this.#disk.readdirSync(this.#folder).toSorted();
    const gone = [...this.#packs].filter(([name, pack]) => !this.#isNamed(name, pack));
    this.#forget(gone);
    for (const [, pack] of gone) pack.close();
    for (const name of names) this.#read(this.#packs.get(name) ?? this.#open(name));
    this.#current = [...this.#packs.values()].at(-1) ?? null;
    return gone.length > 0;
  }

  /** Of all packs. */
  get bytes(): number {
    return [...this.#packs.values()].reduce((sum, { length }) => sum + length, 0);
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
    return this.#append(digest, size, this.chunksOf(file, size)) ? digest : null;
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
    try {
      yield* checked(pieces(place), digest);
    } catch (error) {
      throw error instanceof Torn ? lost(digest) : error;
    }
  }

  /** Throws if a content is not there, or is not what its name says. */
  mustHold(digest: Digest): void {
    for (const _ of this.read(digest));
  }

  /** Everything that was put so far is on disk when this returns. */
  sync(): void {
    if (this.#unsynced.size === 0) return;
    for (const pack of this.#unsynced) pack.sync();
    syncDirectory(this.#disk, this.#folder);
    // Whoever finds this knows that all before it was on disk. Whether this itself was does not matter.
    for (const pack of this.#unsynced) pack.append({ synced: true });
    this.#unsynced.clear();
  }

  /** Drops packs of which nothing, or not half, is wanted any more; what is wanted of them moves to another. Answers how many. */
  sweep(wanted: ReadonlySet<string>): number {
    const used = new Map<RecordFile, number>();
    for (const [digest, { pack, record }] of this.#places)
      if (wanted.has(digest)) used.set(pack, (used.get(pack) ?? 0) + record.at - record.from + record.bytes);
    const wasteful = [...this.#packs].filter(([, pack]) => (used.get(pack) ?? 0) < pack.length / 2);
    this.#move(wanted, new Set(wasteful.map(([, pack]) => pack)));
    this.#forget(wasteful);
    for (const [name, pack] of wasteful) {
      pack.close();
      this.#disk.unlinkSync(join(this.#folder, name));
    }
    return wasteful.length;
  }

  /** What is wanted is on disk in another pack before the old ones go. What is damaged is lost, and not worth a move. */
  #move(wanted: ReadonlySet<string>, from: ReadonlySet<RecordFile>): void {
    this.#current = [...this.#packs.values()].findLast((pack) => !from.has(pack)) ?? null;
    for (const [digest, place] of [...this.#places])
      if (from.has(place.pack) && wanted.has(digest)) this.#append(digest as Digest, place.record.bytes, pieces(place));
    this.sync();
  }

  close(): void {
    for (const pack of this.#packs.values()) pack.close();
    this.#forget([...this.#packs]);
  }

  #forget(packs: readonly (readonly [string, RecordFile])[]): void {
    if (packs.length === 0) return;
    const gone = new Set(packs.map(([, pack]) => pack));
    for (const [digest, { pack }] of this.#places) if (gone.has(pack)) this.#places.delete(digest);
    for (const [name, pack] of packs) {
      this.#packs.delete(name);
      this.#unsynced.delete(pack);
      if (this.#current === pack) this.#current = null;
    }
  }

  /** One that is written to after somebody has unlinked it would be gone with all that is in it. */
  #isNamed(name: string, pack: RecordFile): boolean {
    return this.#disk.lstatSync(join(this.#folder, name), { throwIfNoEntry: false })?.ino === pack.ino;
  }

  #open(name: string): RecordFile {
    const pack = RecordFile.open(this.#disk, join(this.#folder, name));
    this.#packs.set(name, pack);
    return pack;
  }

  /** What was not synced may be said to be there and not be: whoever wrote it died before anybody could rely on it. */
  #read(pack: RecordFile): void {
    const records = pack.more();
    const synced = records.findLastIndex(({ head }) => head.synced === true);
    const torn = records.findIndex((record, at) => at > synced && !isWhole(pack, record));
    const whole = torn < 0 ? records : records.slice(0, torn);
    pack.cutTo(records[torn]?.from ?? pack.length);
    for (const record of whole)
      if (typeof record.head.digest === "string") this.#places.set(record.head.digest, { pack, record });
    if (whole.length > synced + 1) this.#unsynced.add(pack);
  }

  /** False: it was another content in the end, and is not there. */
  #append(digest: Digest, size: number, chunks: Iterable<Uint8Array>): boolean {
    const pack = this.#pack();
    try {
      this.#places.set(digest, { pack, record: pack.appendFrom({ digest, size }, size, checked(chunks, digest)) });
      return true;
    } catch (error) {
      if (error instanceof Torn) return false;
      throw error;
    }
  }

  #pack(): RecordFile {
    if (this.#current !== null && this.#current.length > packBytes) this.#current = null;
    this.#current ??= this.#create(1 + Number.parseInt([...this.#packs.keys()].at(-1) ?? "0", 10));
    this.#unsynced.add(this.#current);
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

function* pieces({ pack, record }: Place): Generator<Uint8Array> {
  for (let at = 0; at < record.bytes; at += wholeBytes) yield pack.read(record, at, wholeBytes);
}

function isWhole(pack: RecordFile, record: FileRecord): boolean {
  const { digest, size } = record.head;
  return digest === undefined || (size === record.bytes && hashOf(pieces({ pack, record })) === digest);
}

export function hashOf(chunks: Iterable<Uint8Array>): Digest {
  const sum = createHash("sha256");
  for (const chunk of chunks) sum.update(chunk);
  return sum.digest("hex") as Digest;
}

/** It is what its digest says, or whoever takes it is told so at the end. */
export function* checked(chunks: Iterable<Uint8Array>, digest: Digest): Generator<Uint8Array> {
  const sum = createHash("sha256");
  for (const chunk of chunks) {
    sum.update(chunk);
    yield chunk;
  }
  if (sum.digest("hex") !== digest) throw new Torn("it was another content the second time");
}

export function isLost(error: unknown): boolean {
  return error instanceof FaultError && error.fault.code === "RESTORE_FAILED";
}

function lost(digest: Digest): FaultError {
  return new FaultError(fault("RESTORE_FAILED", `the content ${digest} is not kept any more, or is damaged`));
}
