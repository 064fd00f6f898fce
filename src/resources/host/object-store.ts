import { createHash, hash } from "node:crypto";
import { join } from "node:path";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Digest } from "../../core/values/ids.ts";
import { type Disk, errorCode, readUpTo, syncDirectory } from "./disk.ts";
import { ContentChangedError, type FileRecord, RecordFile } from "./record-file.ts";

/** Larger files are read in pieces of this size. */
const wholeBytes = 8_388_608;
const packBytes = 268_435_456;

interface PackPosition {
  readonly pack: RecordFile;
  readonly record: Pick<FileRecord, "from" | "at" | "bytes">;
}

/**
 * Contents by their SHA-256. They are appended to packs, so that ten thousand files need one sync. Every read is hashed
 * again, so a damaged content is never returned. The caller holds the lock of the tree.
 */
export class ObjectStore {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #positions = new Map<string, PackPosition>();
  /** By file name, oldest first. */
  readonly #packs = new Map<string, RecordFile>();
  /** The pack that new contents are appended to. */
  #current: RecordFile | null = null;
  /** Packs with data that may not be on disk yet. */
  readonly #unsynced = new Set<RecordFile>();

  constructor(disk: Disk, folder: string) {
    this.#disk = disk;
    this.#folder = folder;
    disk.mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  /** Reads what other processes appended. Returns true if a sweep of another process removed packs. */
  refresh(): boolean {
    const names = this.#disk.readdirSync(this.#folder).toSorted();
    const removed = [...this.#packs].filter(([name, pack]) => !this.#isCurrentFile(name, pack));
    this.#removePacks(removed);
    for (const [, pack] of removed) pack.close();
    for (const name of names) this.#readPack(this.#packs.get(name) ?? this.#openPack(name));
    this.#current = [...this.#packs.values()].at(-1) ?? null;
    return removed.length > 0;
  }

  /** The total size of all packs. */
  get bytes(): number {
    return [...this.#packs.values()].reduce((sum, { length }) => sum + length, 0);
  }

  put(bytes: Uint8Array): Digest {
    const digest = hash("sha256", bytes) as Digest;
    if (!this.#positions.has(digest)) {
      const pack = this.#currentPack();
      this.#positions.set(digest, { pack, record: pack.append({ digest, size: bytes.length }, bytes) });
    }
    return digest;
  }

  /** Stores an open file of the given size. Returns null if its content changed while it was read. */
  putFile(file: number, size: number): Digest | null {
    if (size <= wholeBytes) {
      const bytes = readUpTo(this.#disk, file, size + 1, 0);
      return bytes.length === size ? this.put(bytes) : null;
    }
    const digest = hashChunks(this.chunksOf(file, size));
    if (this.#positions.has(digest)) return digest;
    return this.#appendContent(digest, size, this.chunksOf(file, size)) ? digest : null;
  }

  /** Returns the digest that `putFile` would return, without storing anything. */
  hashFile(file: number, size: number): Digest {
    return hashChunks(this.chunksOf(file, size));
  }

  /** Yields the bytes of an open file in pieces, up to the given size. */
  *chunksOf(file: number, size: number): Generator<Uint8Array> {
    for (let at = 0; at < size; at += wholeBytes) yield readUpTo(this.#disk, file, Math.min(wholeBytes, size - at), at);
  }

  /**
   * Yields a content in pieces. The digest is checked at the end, so the caller must not rely on the content before the
   * last piece.
   */
  *read(digest: Digest): Generator<Uint8Array> {
    const position = this.#positions.get(digest);
    if (position === undefined) throw lostContentFault(digest);
    try {
      yield* verifyChunks(recordChunks(position), digest);
    } catch (error) {
      throw error instanceof ContentChangedError ? lostContentFault(digest) : error;
    }
  }

  /** Throws if a content is missing or does not match its digest. */
  verify(digest: Digest): void {
    for (const _ of this.read(digest));
  }

  /** Makes everything stored so far durable. */
  sync(): void {
    if (this.#unsynced.size === 0) return;
    for (const pack of this.#unsynced) pack.sync();
    syncDirectory(this.#disk, this.#folder);
    // This record tells a later reader that everything before it is on disk. The record itself need not be durable.
    for (const pack of this.#unsynced) pack.append({ synced: true });
    this.#unsynced.clear();
  }

  /**
   * Deletes packs with less than half of their bytes in use, after it moves the wanted contents to another pack.
   * Returns the number of deleted packs.
   */
  sweep(wanted: ReadonlySet<string>): number {
    const used = new Map<RecordFile, number>();
    for (const [digest, { pack, record }] of this.#positions)
      if (wanted.has(digest)) used.set(pack, (used.get(pack) ?? 0) + record.at - record.from + record.bytes);
    const wastefulPacks = [...this.#packs].filter(([, pack]) => (used.get(pack) ?? 0) < pack.length / 2);
    this.#moveContents(wanted, new Set(wastefulPacks.map(([, pack]) => pack)));
    this.#removePacks(wastefulPacks);
    for (const [name, pack] of wastefulPacks) {
      pack.close();
      this.#disk.unlinkSync(join(this.#folder, name));
    }
    return wastefulPacks.length;
  }

  /**
   * Makes the wanted contents durable in another pack before the old packs are deleted. Damaged contents are not moved.
   */
  #moveContents(wanted: ReadonlySet<string>, from: ReadonlySet<RecordFile>): void {
    this.#current = [...this.#packs.values()].findLast((pack) => !from.has(pack)) ?? null;
    for (const [digest, position] of [...this.#positions])
      if (from.has(position.pack) && wanted.has(digest))
        this.#appendContent(digest as Digest, position.record.bytes, recordChunks(position));
    this.sync();
  }

  close(): void {
    for (const pack of this.#packs.values()) pack.close();
    this.#removePacks([...this.#packs]);
  }

  #removePacks(packs: readonly (readonly [string, RecordFile])[]): void {
    if (packs.length === 0) return;
    const removed = new Set(packs.map(([, pack]) => pack));
    for (const [digest, { pack }] of this.#positions) if (removed.has(pack)) this.#positions.delete(digest);
    for (const [name, pack] of packs) {
      this.#packs.delete(name);
      this.#unsynced.delete(pack);
      if (this.#current === pack) this.#current = null;
    }
  }

  /** False if the pack was unlinked or replaced; data appended to it would be lost. */
  #isCurrentFile(name: string, pack: RecordFile): boolean {
    return this.#disk.lstatSync(join(this.#folder, name), { throwIfNoEntry: false })?.ino === pack.ino;
  }

  #openPack(name: string): RecordFile {
    const pack = RecordFile.open(this.#disk, join(this.#folder, name));
    this.#packs.set(name, pack);
    return pack;
  }

  /**
   * Records after the last sync marker are verified, because their bytes may not be on disk. The first torn record and
   * all after it are dropped: the writer died before it could rely on them.
   */
  #readPack(pack: RecordFile): void {
    const records = pack.readNew();
    const synced = records.findLastIndex(({ head }) => head.synced === true);
    const firstTorn = records.findIndex((record, at) => at > synced && !isRecordIntact(pack, record));
    const intact = firstTorn < 0 ? records : records.slice(0, firstTorn);
    pack.truncateTo(records[firstTorn]?.from ?? pack.length);
    for (const record of intact)
      if (typeof record.head.digest === "string") this.#positions.set(record.head.digest, { pack, record });
    if (intact.length > synced + 1) this.#unsynced.add(pack);
  }

  /** Returns false, with nothing stored, if the content does not match the digest. */
  #appendContent(digest: Digest, size: number, chunks: Iterable<Uint8Array>): boolean {
    const pack = this.#currentPack();
    try {
      this.#positions.set(digest, {
        pack,
        record: pack.appendFrom({ digest, size }, size, verifyChunks(chunks, digest)),
      });
      return true;
    } catch (error) {
      if (error instanceof ContentChangedError) return false;
      throw error;
    }
  }

  #currentPack(): RecordFile {
    if (this.#current !== null && this.#current.length > packBytes) this.#current = null;
    this.#current ??= this.#createPack(1 + Number.parseInt([...this.#packs.keys()].at(-1) ?? "0", 10));
    this.#unsynced.add(this.#current);
    return this.#current;
  }

  #createPack(number: number): RecordFile {
    const name = `${String(number).padStart(8, "0")}.pack`;
    try {
      const pack = RecordFile.create(this.#disk, join(this.#folder, name));
      this.#packs.set(name, pack);
      return pack;
    } catch (error) {
      if (errorCode(error) === "EEXIST") return this.#createPack(number + 1);
      throw error;
    }
  }
}

function* recordChunks({ pack, record }: PackPosition): Generator<Uint8Array> {
  for (let at = 0; at < record.bytes; at += wholeBytes) yield pack.read(record, at, wholeBytes);
}

function isRecordIntact(pack: RecordFile, record: FileRecord): boolean {
  const { digest, size } = record.head;
  return digest === undefined || (size === record.bytes && hashChunks(recordChunks({ pack, record })) === digest);
}

export function hashChunks(chunks: Iterable<Uint8Array>): Digest {
  const sum = createHash("sha256");
  for (const chunk of chunks) sum.update(chunk);
  return sum.digest("hex") as Digest;
}

/** Passes the chunks on and throws at the end if they do not match the digest. */
export function* verifyChunks(chunks: Iterable<Uint8Array>, digest: Digest): Generator<Uint8Array> {
  const sum = createHash("sha256");
  for (const chunk of chunks) {
    sum.update(chunk);
    yield chunk;
  }
  if (sum.digest("hex") !== digest) throw new ContentChangedError("the content changed between two reads");
}

export function isLostContent(error: unknown): boolean {
  return error instanceof FaultError && error.fault.code === "RESTORE_FAILED";
}

function lostContentFault(digest: Digest): FaultError {
  return new FaultError(fault("RESTORE_FAILED", `the content ${digest} is no longer stored, or is damaged`));
}
