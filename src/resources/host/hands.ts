import { constants, type Stats } from "node:fs";
import { FaultError, fault } from "../../core/fault.ts";
import { shown, type TreePath } from "../tree-path.ts";
import type { Anchor, Spot } from "./anchor.ts";
import { type Disk, errorCode, syncDirectory, writeAll } from "./disk.ts";
import { namesIn, osPath } from "./name-bytes.ts";
import { type Standing, standingOf } from "./tree-node.ts";

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;
const O_PATH = process.platform === "linux" ? 0o10000000 : 0;
/** Stretches of zeros that long become holes again. */
const holeBytes = 65_536;
const zeros = Buffer.alloc(holeBytes);

/** Puts things where they were. Whatever it does may be done again; it follows no link, and it makes what it does durable. */
export class Hands {
  readonly #disk: Disk;
  readonly #anchor: Anchor;
  /** What is not finished yet, in the directory that it will be in. Whoever goes on finds it by this name. */
  readonly #unfinished: string;
  /** Directories whose entries changed, to be synced when all is done. */
  readonly #changed = new Map<string, TreePath>();

  constructor(disk: Disk, anchor: Anchor, id: string) {
    this.#disk = disk;
    this.#anchor = anchor;
    this.#unfinished = unfinishedName(id);
  }

  /** A whole file: written aside, synced, and then moved to its place. */
  putFile(path: TreePath, standing: Standing, size: number, chunks: Iterable<Uint8Array>): void {
    this.#replace(path, (place) => {
      const file = this.#disk.openSync(place, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
      try {
        this.#fill(file, size, chunks);
        this.#dress(place, standing);
        this.#disk.fsyncSync(file);
      } finally {
        this.#disk.closeSync(file);
      }
    });
  }

  /** The same file as before, with what it had: its other names and whatever else belongs to it stay. */
  refill(path: TreePath, standing: Standing, size: number, chunks: Iterable<Uint8Array>): void {
    const { descriptor, stats } = this.#anchor.file(path, O_WRONLY);
    try {
      // Holes are made by not writing where nothing is. To empty a small file first would only cost it its place on the disk.
      if (size >= holeBytes) this.#disk.ftruncateSync(descriptor, 0);
      this.#fill(descriptor, size, chunks);
      const { uid, gid, mode, mtime_us } = standing;
      if (stats.uid !== uid || stats.gid !== gid) this.#disk.fchownSync(descriptor, uid, gid);
      this.#disk.fchmodSync(descriptor, mode);
      this.#disk.futimesSync(descriptor, stats.atimeMs / 1000, seconds(mtime_us));
      this.#disk.fsyncSync(descriptor);
    } finally {
      this.#disk.closeSync(descriptor);
    }
  }

  putLink(path: TreePath, standing: Standing, target: string): void {
    this.#replace(path, (place) => {
      this.#disk.symlinkSync(osPath(target), place);
      this.#dress(place, standing);
    });
  }

  /** One more name for a file that is in place. */
  putName(path: TreePath, first: TreePath): void {
    this.#anchor.at(first, (from) => this.#replace(path, (place) => this.#disk.linkSync(from.place, place)));
  }

  /** A file that was only moved aside. */
  putKept(path: TreePath, kept: string): void {
    if (this.#disk.lstatSync(kept, { throwIfNoEntry: false }) === undefined) return;
    if (this.#anchor.stats(path)?.isDirectory() === true) this.removeEmpty(path);
    this.#in(path, (spot) => this.#disk.renameSync(kept, spot.place));
    // Renaming one name of a file to another of the same does nothing at all.
    if (this.#disk.lstatSync(kept, { throwIfNoEntry: false }) !== undefined) this.#disk.unlinkSync(kept);
  }

  /** Its standing is given when everything is in it. */
  putDirectory(path: TreePath): void {
    const stats = this.#anchor.stats(path);
    if (stats?.isDirectory() === true) return;
    if (stats !== null) this.remove(path);
    this.#in(path, ({ place }) => this.#disk.mkdirSync(place, 0o700));
  }

  /** A file, a link, or a directory and all that is in it. */
  remove(path: TreePath): void {
    const stats = this.#anchor.stats(path);
    if (stats === null) return;
    if (stats.isDirectory()) {
      for (const name of this.names(path)) this.remove([...path, name]);
      this.removeEmpty(path);
    } else {
      this.#in(path, ({ place }) => this.#disk.unlinkSync(place));
    }
  }

  /** Stops where something else is in it. */
  removeEmpty(path: TreePath): void {
    this.#in(path, ({ place }) => {
      try {
        this.#disk.rmdirSync(place);
      } catch (error) {
        if (errorCode(error) !== "ENOTEMPTY") throw error;
        throw new FaultError(
          fault("RESTORE_BLOCKED", `${shown(path.join("/"))} holds what the call did not make; move it away`),
        );
      }
    });
    this.#changed.delete(path.join("/"));
  }

  /** Owner, mode and time, in the order in which none of them undoes another. */
  dress(path: TreePath, standing: Standing): void {
    this.#anchor.at(path, ({ place }) => {
      this.#dress(place, standing);
      if (!this.#disk.lstatSync(place).isSymbolicLink()) this.#syncItself(place);
    });
    this.#changed.delete(path.join("/"));
  }

  names(path: TreePath): readonly string[] {
    return this.#anchor.at([...path, "."], ({ directory }) =>
      this.#forced(directory, () =>
        namesIn((encoding) => this.#disk.readdirSync(directory, { encoding: encoding as "utf8" })),
      ),
    );
  }

  /** All of it is on disk when this returns. */
  sync(): void {
    for (const path of this.#changed.values()) {
      this.#anchor.at([...path, "."], ({ directory }) => syncDirectory(this.#disk, directory));
    }
    this.#changed.clear();
  }

  #replace(path: TreePath, make: (place: string | Buffer) => void): void {
    if (this.#anchor.stats(path)?.isDirectory() === true) this.remove(path);
    this.#in(path, ({ directory, place }) => {
      const aside = osPath(`${directory}/${this.#unfinished}`);
      // One that a restore before this one did not finish.
      if (this.#disk.lstatSync(aside, { throwIfNoEntry: false }) !== undefined) this.#disk.unlinkSync(aside);
      make(aside);
      this.#disk.renameSync(aside, place);
      // Nor does this one, if both were names of one file.
      if (this.#disk.lstatSync(aside, { throwIfNoEntry: false }) !== undefined) this.#disk.unlinkSync(aside);
    });
  }

  #in(path: TreePath, work: (spot: Spot) => void): void {
    const parent = path.slice(0, -1);
    this.#anchor.at(path, (spot) => this.#forced(spot.directory, () => work(spot)));
    this.#changed.set(parent.join("/"), parent);
  }

  /** In a directory that its owner may not write, permission is given; its standing is put right when all is done. */
  #forced<Result>(directory: string, work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      if (errorCode(error) !== "EACCES") throw error;
      this.#disk.chmodSync(directory, 0o700);
      return work();
    }
  }

  /** As far as its mode lets us. */
  #syncItself(place: string | Buffer): void {
    try {
      const file = this.#disk.openSync(place, O_NOFOLLOW | O_NONBLOCK);
      this.#disk.fsyncSync(file);
      this.#disk.closeSync(file);
    } catch (error) {
      if (errorCode(error) !== "EACCES") throw error;
    }
  }

  #fill(file: number, size: number, chunks: Iterable<Uint8Array>): void {
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

  #dress(place: string | Buffer, standing: Standing): void {
    const stats = this.#disk.lstatSync(place);
    if (stats.isSymbolicLink()) this.#dressLink(place, stats, standing);
    else this.#dressFile(place, stats, standing);
  }

  #dressFile(place: string | Buffer, stats: Stats, standing: Standing): void {
    const file = this.#disk.openSync(place, O_PATH | O_NOFOLLOW | O_NONBLOCK | (stats.isDirectory() ? O_DIRECTORY : 0));
    try {
      const itself = O_PATH === 0 ? place : `/proc/self/fd/${file}`;
      const { uid, gid, mode, mtime_us } = standing;
      if (stats.uid !== uid || stats.gid !== gid) this.#disk.chownSync(itself, uid, gid);
      this.#disk.chmodSync(itself, mode);
      this.#disk.utimesSync(itself, stats.atimeMs / 1000, seconds(mtime_us));
    } finally {
      this.#disk.closeSync(file);
    }
  }

  #dressLink(place: string | Buffer, stats: Stats, { uid, gid, mtime_us }: Standing): void {
    const now = standingOf(stats);
    if (now.uid !== uid || now.gid !== gid) this.#disk.lchownSync(place, uid, gid);
    this.#disk.lutimesSync(place, stats.atimeMs / 1000, seconds(mtime_us));
  }
}

/** What a file is called until it is whole. */
export function unfinishedName(id: string): string {
  return `.writ-${id}.tmp`;
}

/** In the middle of its microsecond, where rounding does not reach the next. */
function seconds(microseconds: number): number {
  return (microseconds + 0.5) / 1_000_000;
}
