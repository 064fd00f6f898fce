import { constants, type Stats } from "node:fs";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Digest } from "../../core/values/ids.ts";
import { assertWithinLimit, type FileLimits } from "../file-limits.ts";
import { decodeFileName, readFileNames } from "../file-name-bytes.ts";
import type { FileReader, FilesystemBackend, FileWriter } from "../filesystem-backend.ts";
import type { FileStat } from "../filesystem-handle.ts";
import { forbiddenPathFault, printablePath, type TreePath } from "../tree-path.ts";
import type { CaptureLog } from "./capture-log.ts";
import type { FinalMark, PriorState } from "./capture-record.ts";
import { type Disk, diskFault, errorCode, readUpTo, syncDirectory, writeAll } from "./disk.ts";
import { hashChunks } from "./object-store.ts";
import { ContentChangedError } from "./record-file.ts";
import type { RootDirectory } from "./root-directory.ts";
import { metadataOf } from "./tree-node.ts";

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_RDWR, O_WRONLY } = constants;
const chunkBytes = 8_388_608;

export interface HostBackendOptions {
  readonly disk: Disk;
  readonly rootDirectory: RootDirectory;
  /** Null for a call with raw access, whose tree was captured by a scan. */
  readonly log: CaptureLog | null;
  readonly limits: FileLimits;
  /** The folder for deleted files. */
  readonly aside: string;
  readonly root: string | null;
  /** Returns a problem for each path that could not be restored with its attributes. */
  readonly attributes: (paths: readonly string[]) => readonly string[];
}

/**
 * A tree on disk. The state of a path is durable in the log before the call first changes it; later changes of the same
 * path are not logged.
 */
export class HostBackend implements FilesystemBackend {
  readonly root: string | null;
  readonly #options: HostBackendOptions;
  /** Paths whose prior state is logged, with the inode of the original file. */
  readonly #touched = new Map<string, { readonly path: TreePath; readonly ino: number | null }>();
  #isEnded = false;
  /** The number of files that were moved aside. */
  #asideCount = 0;

  constructor(options: HostBackendOptions) {
    this.#options = options;
    this.root = options.root;
  }

  get touched(): readonly TreePath[] {
    return [...this.#touched.values()].map(({ path }) => path);
  }

  end(): void {
    this.#isEnded = true;
  }

  assertOpen(): void {
    if (this.#isEnded) throw new FaultError(fault("NOT_POSSIBLE", "the call that opened these files has ended"));
  }

  stat(path: TreePath): FileStat | null {
    const stats = this.#options.rootDirectory.stats(path);
    if (stats === null) return null;
    return { kind: kindOf(stats), bytes: stats.size, mode: stats.mode & 0o7777, modifiedMs: stats.mtimeMs };
  }

  list(path: TreePath): readonly string[] {
    const { rootDirectory, disk } = this.#options;
    return rootDirectory.withEntry([...path, "."], ({ directory }) =>
      readFileNames((encoding) => disk.readdirSync(directory, { encoding: encoding as "utf8" })),
    );
  }

  openReader(path: TreePath): FileReader {
    const { rootDirectory, disk } = this.#options;
    const { descriptor } = rootDirectory.openFile(path, O_RDONLY);
    let at = 0;
    return {
      next: (most) => {
        const chunk = readUpTo(disk, descriptor, most, at);
        at += chunk.length;
        return chunk.length === 0 ? null : chunk;
      },
      close: () => disk.closeSync(descriptor),
    };
  }

  openWriter(path: TreePath, how: "replace" | "append"): FileWriter {
    this.assertOpen();
    const { disk } = this.#options;
    const { descriptor, size: before } = this.#openExisting(path, how) ?? {
      descriptor: this.#createFile(path),
      size: 0,
    };
    let written = 0;
    return {
      write: (bytes) => {
        this.assertOpen();
        try {
          writeAll(disk, descriptor, bytes);
        } catch (error) {
          throw diskFault(error, path.join("/"));
        }
        written += bytes.length;
      },
      close: () => {
        try {
          // The file is truncated last, because a file that is emptied first loses its blocks on the disk.
          if (how === "replace" && before > written && !this.#isEnded) disk.ftruncateSync(descriptor, written);
        } finally {
          disk.closeSync(descriptor);
        }
      },
    };
  }

  makeDirectory(path: TreePath): void {
    this.#recordStates([{ path, was: { kind: "absent" } }, ...this.#parentState(path)]);
    this.#createExclusively(path, (place) => this.#options.disk.mkdirSync(place, 0o777));
  }

  remove(path: TreePath): void {
    this.assertOpen();
    const stats = this.#options.rootDirectory.stats(path);
    if (stats === null) return;
    const { disk, rootDirectory } = this.#options;
    if (stats.isFile()) this.#moveAside(path, stats);
    else this.#recordStates([{ path, was: this.#stateOfNonFile(path, stats) }, ...this.#parentState(path)]);
    rootDirectory.withEntry(path, ({ place }) =>
      stats.isDirectory() ? disk.rmdirSync(place) : disk.unlinkSync(place),
    );
  }

  /** Makes the changes of the call durable, and returns the final mark of each path. */
  syncChanges(): readonly FinalMark[] {
    const { disk, rootDirectory } = this.#options;
    return this.touched.map((path) => {
      const stats = rootDirectory.stats(path);
      if (stats?.isFile() === true) {
        const { descriptor } = rootDirectory.openFile(path, O_RDONLY);
        disk.fsyncSync(descriptor);
        disk.closeSync(descriptor);
      }
      if (stats?.isDirectory() === true)
        rootDirectory.withEntry([...path, "."], ({ directory }) => syncDirectory(disk, directory));
      return { path, mark: changeMark(stats) };
    });
  }

  /** Logs the state of these paths before a rewind changes them. */
  recordPriorStates(paths: readonly TreePath[]): void {
    const states: { path: TreePath; was: PriorState }[] = [];
    for (const path of paths.filter((each) => !this.#touched.has(each.join("/")))) {
      const stats = this.#options.rootDirectory.stats(path);
      if (stats?.isFile() === true) this.#recordByCopy(path);
      else states.push({ path, was: stats === null ? { kind: "absent" } : this.#stateOfNonFile(path, stats) });
    }
    this.#recordStates(states);
  }

  /** Opens an existing file after its prior state is logged. Returns null if nothing exists. */
  #openExisting(
    path: TreePath,
    how: "replace" | "append",
  ): { readonly descriptor: number; readonly size: number } | null {
    const { disk } = this.#options;
    const opened = this.#openOrNull(path, O_RDWR | (how === "append" ? O_APPEND : 0));
    if (opened === null) return null;
    const { descriptor, stats } = opened;
    try {
      if (stats.nlink > 1)
        throw forbiddenPathFault(path.join("/"), "it has other hard links, which may be outside the tree");
      if (!this.#touched.has(path.join("/"))) this.#recordFile(path, descriptor, stats);
      return { descriptor, size: stats.size };
    } catch (error) {
      disk.closeSync(descriptor);
      throw diskFault(error, path.join("/"));
    }
  }

  #openOrNull(path: TreePath, flags: number): ReturnType<RootDirectory["openFile"]> | null {
    try {
      return this.#options.rootDirectory.openFile(path, flags);
    } catch (error) {
      if (error instanceof FaultError && error.fault.code === "FILE_NOT_FOUND") return null;
      throw error;
    }
  }

  #createFile(path: TreePath): number {
    this.#recordStates([{ path, was: { kind: "absent" } }, ...this.#parentState(path)]);
    const flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    return this.#createExclusively(path, (place) => this.#options.disk.openSync(place, flags, 0o666));
  }

  /**
   * Creates an entry. If another program created it first, logs that the call did not create it, so that a restore does
   * not remove it.
   */
  #createExclusively<Made>(path: TreePath, make: (place: string | Buffer) => Made): Made {
    return this.#options.rootDirectory.withEntry(path, ({ place }) => {
      try {
        return make(place);
      } catch (error) {
        if (errorCode(error) !== "EEXIST") throw error;
        this.#recordStates([], (log) => log.append({ type: "unmade", path }));
        throw new FaultError(
          fault("RESOURCE_RESTLESS", `${printablePath(path.join("/"))} was just created by another program`),
        );
      }
    });
  }

  #recordFile(path: TreePath, descriptor: number, stats: Stats): void {
    const { disk, log, limits } = this.#options;
    if (log === null) return;
    const { size, ino } = stats;
    assertWithinLimit(limits, "captureBytes", size, `the size of ${printablePath(path.join("/"))}`);
    const chunks = function* (): Generator<Uint8Array> {
      for (let at = 0; at < size; at += chunkBytes)
        yield readUpTo(disk, descriptor, Math.min(chunkBytes, size - at), at);
    };
    const was = (digest: Digest) => ({ kind: "file", ...metadataOf(stats), size, ino, digest }) as const;
    if (size <= chunkBytes) {
      const bytes = readUpTo(disk, descriptor, size, 0);
      if (bytes.length !== size) throw changingFileFault(path);
      log.append({ type: "was", path, was: was(hashChunks([bytes])) }, bytes);
    } else {
      this.#recordLargeFile(path, was(hashChunks(chunks())), chunks());
    }
    log.sync();
    this.#touched.set(path.join("/"), { path, ino });
  }

  /** Reads the file twice, for its digest and to store it. Throws if it changed between. */
  #recordLargeFile(path: TreePath, was: PriorState & { readonly kind: "file" }, chunks: Iterable<Uint8Array>): void {
    try {
      this.#options.log?.appendFrom({ type: "was", path, was }, was.size, chunks);
    } catch (error) {
      throw error instanceof ContentChangedError ? changingFileFault(path) : error;
    }
  }

  /**
   * Links a file that is about to be deleted into the aside folder, so that it can be restored with everything that
   * belongs to it.
   */
  #moveAside(path: TreePath, stats: Stats): void {
    const { rootDirectory, disk, log, aside } = this.#options;
    const known = this.#touched.get(path.join("/"));
    // A file that the call itself created needs no copy.
    if (log === null || (known !== undefined && known.ino !== stats.ino)) return;
    this.#asideCount += 1;
    log.hasAside = true;
    const name = `${log.id}.${this.#asideCount}`;
    try {
      rootDirectory.withEntry(path, ({ place }) => {
        disk.linkSync(place, `${aside}/${name}`);
        syncDirectory(disk, aside);
      });
    } catch (error) {
      const refused = error instanceof FaultError && /EXDEV|EPERM|EMLINK|ENOTSUP/.test(error.fault.message);
      if (!refused) throw error;
      this.#recordByCopy(path);
      return;
    }
    const { size, ino } = stats;
    const was: PriorState = { kind: "file", ...metadataOf(stats), size, ino, digest: null };
    this.#recordStates([{ path, was }, ...this.#parentState(path)], (written) =>
      written.append({ type: "aside", path, name }),
    );
  }

  /**
   * Logs the content of a file that cannot be linked aside, for example because the store is on another file system.
   */
  #recordByCopy(path: TreePath): void {
    const { rootDirectory, disk } = this.#options;
    const { descriptor, stats } = rootDirectory.openFile(path, O_RDONLY);
    try {
      if (stats.nlink > 1)
        throw forbiddenPathFault(path.join("/"), "it has other hard links, and could not be moved aside");
      if (this.#touched.has(path.join("/"))) return;
      this.#assertRestorable(path);
      this.#recordFile(path, descriptor, stats);
    } finally {
      disk.closeSync(descriptor);
    }
    this.#recordStates(this.#parentState(path));
  }

  /** Throws if the entry has attributes that a restore could not set. */
  #assertRestorable(path: TreePath): void {
    const { rootDirectory, attributes } = this.#options;
    const problems = rootDirectory.withEntry(path, ({ directory, name }) => attributes([`${directory}/${name}`]));
    if (problems.length > 0) throw new FaultError(fault("RESOURCE_UNFIT", problems.join("; ")));
  }

  /** Returns the state of a link or an empty directory. */
  #stateOfNonFile(path: TreePath, stats: Stats): PriorState {
    if (stats.isDirectory()) {
      this.#assertRestorable(path);
      return { kind: "directory", ...metadataOf(stats) };
    }
    if (!stats.isSymbolicLink())
      throw new FaultError(fault("FILE_UNFIT", `${printablePath(path.join("/"))} is not a regular file`));
    const { rootDirectory, disk } = this.#options;
    const target = rootDirectory.withEntry(path, ({ place }) => disk.readlinkSync(place, "buffer"));
    return { kind: "link", ...metadataOf(stats), target: decodeFileName(target) };
  }

  /** Returns the state of the parent directory, whose modification time changes when an entry is added or removed. */
  #parentState(path: TreePath): readonly { readonly path: TreePath; readonly was: PriorState }[] {
    const parent = path.slice(0, -1);
    const stats = this.#options.rootDirectory.stats(parent);
    return stats === null ? [] : [{ path: parent, was: { kind: "directory", ...metadataOf(stats) } }];
  }

  /** Logs the states of new paths, durable when this returns. Needs one sync for all. */
  #recordStates(
    states: readonly { readonly path: TreePath; readonly was: PriorState }[],
    appendMore: (log: CaptureLog) => void = () => {},
  ): void {
    this.assertOpen();
    const { log } = this.#options;
    if (log === null) return;
    const unknown = states.filter(({ path }) => !this.#touched.has(path.join("/")));
    try {
      for (const { path, was } of unknown) log.append({ type: "was", path, was });
      appendMore(log);
      log.sync();
    } catch (error) {
      throw diskFault(error, states[0]?.path.join("/") ?? "");
    }
    for (const { path, was } of unknown)
      this.#touched.set(path.join("/"), { path, ino: was.kind === "file" ? was.ino : null });
  }
}

function changingFileFault(path: TreePath): FaultError {
  return new FaultError(
    fault("RESOURCE_RESTLESS", `${printablePath(path.join("/"))} changed while it was captured; try it again`),
  );
}

/** Returns a mark that differs if the entry was changed. A restored entry has its old mark. */
export function changeMark(stats: Stats | null): string {
  if (stats === null) return "absent";
  const { mode, uid, gid, mtime_us } = metadataOf(stats);
  return stats.isDirectory() ? `directory ${mode}` : `${kindOf(stats)} ${stats.size} ${mode} ${uid} ${gid} ${mtime_us}`;
}

function kindOf(stats: Stats): FileStat["kind"] {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "directory";
  return stats.isSymbolicLink() ? "link" : "other";
}
