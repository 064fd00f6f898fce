import { constants, existsSync, type Stats } from "node:fs";
import { FaultError, fault } from "../../core/values/fault.ts";
import { encodeFilePath } from "../file-name-bytes.ts";
import { forbiddenPathFault, printablePath, type TreePath } from "../tree-path.ts";
import { type Disk, diskFault, errorCode } from "./disk.ts";

/** Opens a descriptor that only refers to a path. Linux only. */
const O_PATH = 0o10000000;
const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
const hasDescriptors = existsSync("/proc/self/fd");

/** The location of an entry, in the form for system calls. */
export interface DirectoryEntry {
  /** The path of the open directory. It refers to the same directory even if that is renamed. */
  readonly directory: string;
  readonly name: string;
  readonly place: string | Buffer;
}

/**
 * The root of a tree, held open. Each directory below it is opened from its parent without following links, so no link
 * leads out of the tree, not even one created meanwhile. On systems without /proc, each directory is checked first and
 * then opened by name.
 */
export class RootDirectory {
  readonly #disk: Disk;
  readonly #root: string;
  readonly #descriptor: number | null;
  readonly #device: number;
  readonly #inode: number;

  constructor(disk: Disk, root: string) {
    this.#disk = disk;
    this.#root = root;
    this.#descriptor = hasDescriptors ? disk.openSync(root, O_PATH | O_DIRECTORY | O_NOFOLLOW) : null;
    const { dev, ino } = disk.lstatSync(root);
    this.#device = dev;
    this.#inode = ino;
  }

  /** Throws if the path of the root does not lead to the open directory any more. Follows no link. */
  assertInPlace(): void {
    const stats = this.#disk.lstatSync(this.#root, { throwIfNoEntry: false });
    if (stats === undefined) throw replacedRootFault(this.#root, "was removed or moved");
    if (stats.isSymbolicLink()) throw replacedRootFault(this.#root, "is a link now, which is not followed");
    if (stats.dev !== this.#device || stats.ino !== this.#inode)
      throw replacedRootFault(this.#root, "was replaced by another entry");
  }

  /** Calls `work` with the open parent directory of a path. */
  withEntry<Result>(path: TreePath, work: (entry: DirectoryEntry) => Result): Result {
    const opened: number[] = [];
    try {
      let directory = this.#descriptor === null ? this.#root : `/proc/self/fd/${this.#descriptor}`;
      for (const [depth, name] of path.slice(0, -1).entries()) {
        directory = this.#descend(directory, name, path.slice(0, depth + 1), opened);
      }
      const name = path.at(-1) ?? ".";
      return work({ directory, name, place: encodeFilePath(`${directory}/${name}`) });
    } catch (error) {
      throw diskFault(error, path.join("/"));
    } finally {
      for (const descriptor of opened) this.#disk.closeSync(descriptor);
    }
  }

  /** Returns the stats of the entry itself, not of a link's target, or null if nothing exists. */
  stats(path: TreePath): Stats | null {
    try {
      return this.withEntry(path, ({ place }) => this.#disk.lstatSync(place, { throwIfNoEntry: false })) ?? null;
    } catch (error) {
      if (error instanceof FaultError && /^(?:ENOENT|ENOTDIR)$/.test(errorCode(error.cause))) return null;
      throw error;
    }
  }

  /** Opens a regular file on the file system of the tree. Never blocks, not even on a pipe. */
  openFile(path: TreePath, flags: number): { readonly descriptor: number; readonly stats: Stats } {
    return this.withEntry(path, ({ place }) => {
      const expected = this.#disk.lstatSync(place);
      this.#assertRegularFile(path, expected);
      const descriptor = this.#disk.openSync(place, flags | O_NOFOLLOW | constants.O_NONBLOCK);
      const stats = this.#disk.fstatSync(descriptor);
      if (stats.ino === expected.ino && stats.dev === this.#device && stats.isFile()) return { descriptor, stats };
      this.#disk.closeSync(descriptor);
      throw forbiddenPathFault(path.join("/"), "it was replaced while it was opened");
    });
  }

  close(): void {
    if (this.#descriptor !== null) this.#disk.closeSync(this.#descriptor);
  }

  #assertRegularFile(path: TreePath, stats: Stats): void {
    if (stats.isSymbolicLink()) throw linkFault(path);
    if (stats.isFile()) return;
    const kind = stats.isDirectory() ? "a directory" : "no regular file";
    throw new FaultError(fault("FILE_UNFIT", `${printablePath(path.join("/"))} is ${kind}`));
  }

  #descend(directory: string, name: string, path: TreePath, opened: number[]): string {
    const place = encodeFilePath(`${directory}/${name}`);
    if (this.#descriptor === null) return this.#checkDirectory(place, path);
    const descriptor = this.#openDirectory(place, path);
    opened.push(descriptor);
    this.#assertSameDevice(path, this.#disk.fstatSync(descriptor));
    return `/proc/self/fd/${descriptor}`;
  }

  #openDirectory(place: string | Buffer, path: TreePath): number {
    try {
      return this.#disk.openSync(place, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_RDONLY);
    } catch (error) {
      // A link also fails with ENOTDIR; report it as a link.
      if (this.#disk.lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() === true) throw linkFault(path);
      throw error;
    }
  }

  #assertSameDevice(path: TreePath, { dev }: Stats): void {
    if (dev !== this.#device) throw forbiddenPathFault(path.join("/"), "another file system is mounted there");
  }

  #checkDirectory(place: string | Buffer, path: TreePath): string {
    const stats = this.#disk.lstatSync(place);
    if (stats.isSymbolicLink()) throw linkFault(path);
    this.#assertSameDevice(path, stats);
    if (!stats.isDirectory()) throw Object.assign(new Error("not a directory"), { code: "ENOTDIR" });
    return place.toString();
  }
}

function linkFault(path: TreePath): FaultError {
  return forbiddenPathFault(path.join("/"), "it is a link, and links are not followed");
}

export function replacedRootFault(root: string, what: string): FaultError {
  const message = `the root ${printablePath(root)} ${what}; put the directory back under its path`;
  return new FaultError(fault("RESOURCE_REPLACED", message, { root }));
}
