import { constants, type Stats } from "node:fs";
import { FaultError, fault } from "../../core/values/fault.ts";
import { encodeFilePath, readFileNames } from "../file-name-bytes.ts";
import { printablePath, type TreePath } from "../tree-path.ts";
import { type Disk, errorCode, syncDirectory, writeAll } from "./disk.ts";
import type { DirectoryEntry, RootDirectory } from "./root-directory.ts";
import { metadataOf, type NodeMetadata } from "./tree-node.ts";

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;
const O_PATH = process.platform === "linux" ? 0o10000000 : 0;
/** Blocks of zeros of this size are not written and become holes. */
const holeBytes = 65_536;
const zeros = Buffer.alloc(holeBytes);

/**
 * Writes entries of a tree during a restore. Every operation can be repeated, follows no link, and is durable after
 * `sync`.
 */
export class TreeWriter {
  readonly #disk: Disk;
  readonly #rootDirectory: RootDirectory;
  /** The name of an unfinished file in its target directory. A later restore finds and removes it by this name. */
  readonly #temporaryName: string;
  /** Directories whose entries changed, for `sync`. */
  readonly #changedDirectories = new Map<string, TreePath>();

  constructor(disk: Disk, rootDirectory: RootDirectory, id: string) {
    this.#disk = disk;
    this.#rootDirectory = rootDirectory;
    this.#temporaryName = temporaryName(id);
  }

  /** Creates a file: writes it under a temporary name, syncs it, and renames it. */
  putFile(path: TreePath, metadata: NodeMetadata, size: number, chunks: Iterable<Uint8Array>): void {
    this.#replace(path, (place) => {
      const file = this.#disk.openSync(place, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
      try {
        this.#writeContent(file, size, chunks);
        this.#applyMetadata(place, metadata);
        this.#disk.fsyncSync(file);
      } finally {
        this.#disk.closeSync(file);
      }
    });
  }

  /** Overwrites a file in place, which keeps its hard links and extended attributes. */
  rewriteFile(path: TreePath, metadata: NodeMetadata, size: number, chunks: Iterable<Uint8Array>): void {
    const { descriptor, stats } = this.#rootDirectory.openFile(path, O_WRONLY);
    try {
      // Skipped blocks become holes only in an empty file. A small file has none and is not truncated, so it keeps its
      // blocks on the disk.
      if (size >= holeBytes) this.#disk.ftruncateSync(descriptor, 0);
      this.#writeContent(descriptor, size, chunks);
      const { uid, gid, mode, mtime_us } = metadata;
      if (stats.uid !== uid || stats.gid !== gid) this.#disk.fchownSync(descriptor, uid, gid);
      this.#disk.fchmodSync(descriptor, mode);
      this.#disk.futimesSync(descriptor, stats.atimeMs / 1000, toSeconds(mtime_us));
      this.#disk.fsyncSync(descriptor);
    } finally {
      this.#disk.closeSync(descriptor);
    }
  }

  putLink(path: TreePath, metadata: NodeMetadata, target: string): void {
    this.#replace(path, (place) => {
      this.#disk.symlinkSync(encodeFilePath(target), place);
      this.#applyMetadata(place, metadata);
    });
  }

  /** Creates a hard link to an existing file. */
  putHardLink(path: TreePath, first: TreePath): void {
    this.#rootDirectory.withEntry(first, (from) =>
      this.#replace(path, (place) => this.#disk.linkSync(from.place, place)),
    );
  }

  /** Moves a file back that was moved aside. */
  putAsideFile(path: TreePath, asidePath: string): void {
    if (this.#disk.lstatSync(asidePath, { throwIfNoEntry: false }) === undefined) return;
    if (this.#rootDirectory.stats(path)?.isDirectory() === true) this.removeEmpty(path);
    this.#changeEntry(path, (entry) => this.#disk.renameSync(asidePath, entry.place));
    // A rename between two hard links of the same file does nothing.
    if (this.#disk.lstatSync(asidePath, { throwIfNoEntry: false }) !== undefined) this.#disk.unlinkSync(asidePath);
  }

  /** Creates a directory. Its metadata is set after its entries are written. */
  putDirectory(path: TreePath): void {
    const stats = this.#rootDirectory.stats(path);
    if (stats?.isDirectory() === true) return;
    if (stats !== null) this.remove(path);
    this.#changeEntry(path, ({ place }) => this.#disk.mkdirSync(place, 0o700));
  }

  /** Removes a file, a link or a directory with its contents. */
  remove(path: TreePath): void {
    const stats = this.#rootDirectory.stats(path);
    if (stats === null) return;
    if (stats.isDirectory()) {
      for (const name of this.list(path)) this.remove([...path, name]);
      this.removeEmpty(path);
    } else {
      this.#changeEntry(path, ({ place }) => this.#disk.unlinkSync(place));
    }
  }

  /** Removes an empty directory. Throws if it has entries. */
  removeEmpty(path: TreePath): void {
    this.#changeEntry(path, ({ place }) => {
      try {
        this.#disk.rmdirSync(place);
      } catch (error) {
        if (errorCode(error) !== "ENOTEMPTY") throw error;
        throw new FaultError(
          fault(
            "RESTORE_BLOCKED",
            `${printablePath(path.join("/"))} contains entries that the call did not create; move them away`,
          ),
        );
      }
    });
    this.#changedDirectories.delete(path.join("/"));
  }

  /** Sets owner, mode and time, in this order because each change would reset the next ones. */
  setMetadata(path: TreePath, metadata: NodeMetadata): void {
    this.#rootDirectory.withEntry(path, ({ place }) => {
      this.#applyMetadata(place, metadata);
      if (!this.#disk.lstatSync(place).isSymbolicLink()) this.#syncNode(place);
    });
    this.#changedDirectories.delete(path.join("/"));
  }

  list(path: TreePath): readonly string[] {
    return this.#rootDirectory.withEntry([...path, "."], ({ directory }) =>
      this.#withPermission(directory, () =>
        readFileNames((encoding) => this.#disk.readdirSync(directory, { encoding: encoding as "utf8" })),
      ),
    );
  }

  /** Makes all changes durable. */
  sync(): void {
    for (const path of this.#changedDirectories.values()) {
      this.#rootDirectory.withEntry([...path, "."], ({ directory }) => syncDirectory(this.#disk, directory));
    }
    this.#changedDirectories.clear();
  }

  #replace(path: TreePath, make: (place: string | Buffer) => void): void {
    if (this.#rootDirectory.stats(path)?.isDirectory() === true) this.remove(path);
    this.#changeEntry(path, ({ directory, place }) => {
      const aside = encodeFilePath(`${directory}/${this.#temporaryName}`);
      // An earlier restore may have left an unfinished file.
      if (this.#disk.lstatSync(aside, { throwIfNoEntry: false }) !== undefined) this.#disk.unlinkSync(aside);
      make(aside);
      this.#disk.renameSync(aside, place);
      // The rename does nothing if both are hard links of one file.
      if (this.#disk.lstatSync(aside, { throwIfNoEntry: false }) !== undefined) this.#disk.unlinkSync(aside);
    });
  }

  #changeEntry(path: TreePath, work: (entry: DirectoryEntry) => void): void {
    const parent = path.slice(0, -1);
    this.#rootDirectory.withEntry(path, (entry) => this.#withPermission(entry.directory, () => work(entry)));
    this.#changedDirectories.set(parent.join("/"), parent);
  }

  /** Makes a read-only directory writable if needed. Its mode is restored with its metadata. */
  #withPermission<Result>(directory: string, work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      if (errorCode(error) !== "EACCES") throw error;
      this.#disk.chmodSync(directory, 0o700);
      return work();
    }
  }

  /** Syncs a file or directory, unless its mode forbids opening it. */
  #syncNode(place: string | Buffer): void {
    try {
      const file = this.#disk.openSync(place, O_NOFOLLOW | O_NONBLOCK);
      this.#disk.fsyncSync(file);
      this.#disk.closeSync(file);
    } catch (error) {
      if (errorCode(error) !== "EACCES") throw error;
    }
  }

  #writeContent(file: number, size: number, chunks: Iterable<Uint8Array>): void {
    let at = 0;
    for (const chunk of chunks) {
      for (let from = 0; from < chunk.length; from += holeBytes) {
        const piece = chunk.subarray(from, from + holeBytes);
        if (piece.length < holeBytes || !zeros.equals(piece)) writeAll(this.#disk, file, piece, at + from);
      }
      at += chunk.length;
    }
    this.#disk.ftruncateSync(file, size);
  }

  #applyMetadata(place: string | Buffer, metadata: NodeMetadata): void {
    const stats = this.#disk.lstatSync(place);
    if (stats.isSymbolicLink()) this.#applyLinkMetadata(place, stats, metadata);
    else this.#applyFileMetadata(place, stats, metadata);
  }

  #applyFileMetadata(place: string | Buffer, stats: Stats, metadata: NodeMetadata): void {
    const file = this.#disk.openSync(place, O_PATH | O_NOFOLLOW | O_NONBLOCK | (stats.isDirectory() ? O_DIRECTORY : 0));
    try {
      const pathToDescriptor = O_PATH === 0 ? place : `/proc/self/fd/${file}`;
      const { uid, gid, mode, mtime_us } = metadata;
      if (stats.uid !== uid || stats.gid !== gid) this.#disk.chownSync(pathToDescriptor, uid, gid);
      this.#disk.chmodSync(pathToDescriptor, mode);
      this.#disk.utimesSync(pathToDescriptor, stats.atimeMs / 1000, toSeconds(mtime_us));
    } finally {
      this.#disk.closeSync(file);
    }
  }

  #applyLinkMetadata(place: string | Buffer, stats: Stats, { uid, gid, mtime_us }: NodeMetadata): void {
    const now = metadataOf(stats);
    if (now.uid !== uid || now.gid !== gid) this.#disk.lchownSync(place, uid, gid);
    this.#disk.lutimesSync(place, stats.atimeMs / 1000, toSeconds(mtime_us));
  }
}

/** Returns the name of a file until it is complete. */
export function temporaryName(id: string): string {
  return `.writ-${id}.tmp`;
}

/** The middle of the microsecond, so that rounding cannot reach the next one. */
function toSeconds(microseconds: number): number {
  return (microseconds + 0.5) / 1_000_000;
}
