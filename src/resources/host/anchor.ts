import { constants, existsSync, type Stats } from "node:fs";
import { FaultError, fault } from "../../core/fault.ts";
import { forbidden, shown, type TreePath } from "../tree-path.ts";
import { type Disk, diskFault, errorCode } from "./disk.ts";
import { osPath } from "./name-bytes.ts";

/** A file descriptor that only names a place. Linux. */
const O_PATH = 0o10000000;
const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
const hasDescriptors = existsSync("/proc/self/fd");

/** Where something is, as the operating system is asked for it. */
export interface Spot {
  /** The directory, held open: it stays this one, whatever its name is given to. */
  readonly directory: string;
  readonly name: string;
  readonly place: string | Buffer;
}

/**
 * The root of a tree, held open. Whatever is below it is reached directory by directory, each opened without following a link, so
 * that no link leads out, not even one that is put there meanwhile. Where there is no /proc, directories are looked at first
 * and opened by name then.
 */
export class Anchor {
  readonly #disk: Disk;
  readonly #root: string;
  readonly #descriptor: number | null;
  readonly #device: number;

  constructor(disk: Disk, root: string) {
    this.#disk = disk;
    this.#root = root;
    this.#descriptor = hasDescriptors ? disk.openSync(root, O_PATH | O_DIRECTORY | O_NOFOLLOW) : null;
    this.#device = disk.lstatSync(root).dev;
  }

  /** Lends the directory that the last name of a path is in. */
  at<Result>(path: TreePath, work: (spot: Spot) => Result): Result {
    const opened: number[] = [];
    try {
      let directory = this.#descriptor === null ? this.#root : `/proc/self/fd/${this.#descriptor}`;
      for (const [depth, name] of path.slice(0, -1).entries()) {
        directory = this.#descend(directory, name, path.slice(0, depth + 1), opened);
      }
      const name = path.at(-1) ?? ".";
      return work({ directory, name, place: osPath(`${directory}/${name}`) });
    } catch (error) {
      throw diskFault(error, path.join("/"));
    } finally {
      for (const descriptor of opened) this.#disk.closeSync(descriptor);
    }
  }

  /** Itself, never what a link leads to; null: nothing is there. */
  stats(path: TreePath): Stats | null {
    try {
      return this.at(path, ({ place }) => this.#disk.lstatSync(place, { throwIfNoEntry: false })) ?? null;
    } catch (error) {
      if (error instanceof FaultError && /^(?:ENOENT|ENOTDIR)$/.test(errorCode(error.cause))) return null;
      throw error;
    }
  }

  /** Opens a regular file of this very tree. A pipe does not make it wait. */
  file(path: TreePath, flags: number): { readonly descriptor: number; readonly stats: Stats } {
    return this.at(path, ({ place }) => {
      const seen = this.#disk.lstatSync(place);
      this.#mustBeFile(path, seen);
      const descriptor = this.#disk.openSync(place, flags | O_NOFOLLOW | constants.O_NONBLOCK);
      const stats = this.#disk.fstatSync(descriptor);
      if (stats.ino === seen.ino && stats.dev === this.#device && stats.isFile()) return { descriptor, stats };
      this.#disk.closeSync(descriptor);
      throw forbidden(path.join("/"), "it was replaced while it was opened");
    });
  }

  close(): void {
    if (this.#descriptor !== null) this.#disk.closeSync(this.#descriptor);
  }

  #mustBeFile(path: TreePath, stats: Stats): void {
    if (stats.isSymbolicLink()) throw linked(path);
    if (stats.isFile()) return;
    const kind = stats.isDirectory() ? "a directory" : "no regular file";
    throw new FaultError(fault("FILE_UNFIT", `${shown(path.join("/"))} is ${kind}`));
  }

  #descend(directory: string, name: string, path: TreePath, opened: number[]): string {
    const place = osPath(`${directory}/${name}`);
    if (this.#descriptor === null) return this.#plain(place, path);
    const descriptor = this.#opened(place, path);
    opened.push(descriptor);
    this.#mustBeHere(path, this.#disk.fstatSync(descriptor));
    return `/proc/self/fd/${descriptor}`;
  }

  #opened(place: string | Buffer, path: TreePath): number {
    try {
      return this.#disk.openSync(place, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_RDONLY);
    } catch (error) {
      // A link is no directory either.
      if (this.#disk.lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() === true) throw linked(path);
      throw error;
    }
  }

  #mustBeHere(path: TreePath, { dev }: Stats): void {
    if (dev !== this.#device) throw forbidden(path.join("/"), "another file system is mounted there");
  }

  #plain(place: string | Buffer, path: TreePath): string {
    const stats = this.#disk.lstatSync(place);
    if (stats.isSymbolicLink()) throw linked(path);
    this.#mustBeHere(path, stats);
    if (!stats.isDirectory()) throw Object.assign(new Error("not a directory"), { code: "ENOTDIR" });
    return place.toString();
  }
}

function linked(path: TreePath): FaultError {
  return forbidden(path.join("/"), "it is a link, and links are not followed");
}
