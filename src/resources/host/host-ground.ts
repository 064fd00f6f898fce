import { constants, type Stats } from "node:fs";
import { FaultError, fault } from "../../core/fault.ts";
import type { Digest } from "../../core/id.ts";
import { type FileLimits, within } from "../file-limits.ts";
import type { FileStat } from "../filesystem.ts";
import type { Ground, Reader, Writer } from "../ground.ts";
import { forbidden, shown, type TreePath } from "../tree-path.ts";
import type { Anchor } from "./anchor.ts";
import type { CaptureLog } from "./capture-log.ts";
import { type Disk, diskFault, errorCode, readUpTo, syncDirectory, writeAll } from "./disk.ts";
import type { After, Was } from "./log-record.ts";
import { nameFrom, namesIn } from "./name-bytes.ts";
import { hashOf } from "./object-store.ts";
import { Torn } from "./record-file.ts";
import { standingOf } from "./tree-node.ts";

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_RDWR, O_WRONLY } = constants;
const chunkBytes = 8_388_608;

export interface HostGroundOptions {
  readonly disk: Disk;
  readonly anchor: Anchor;
  /** Null: whoever opened it knows how everything was. */
  readonly log: CaptureLog | null;
  readonly limits: FileLimits;
  /** Where deleted files are moved aside. */
  readonly aside: string;
  readonly root: string | null;
  /** Why some of these could not be made again as they are. */
  readonly attributes: (paths: readonly string[]) => readonly string[];
}

/** A real tree. How something was is on disk before it is first changed; after that a call may do with it what it likes. */
export class HostGround implements Ground {
  readonly root: string | null;
  readonly #options: HostGroundOptions;
  /** Paths of which it is known how they were, and which file was there. */
  readonly #touched = new Map<string, { readonly path: TreePath; readonly ino: number | null }>();
  #ended = false;
  /** How many files were given a second name. */
  #moved = 0;

  constructor(options: HostGroundOptions) {
    this.#options = options;
    this.root = options.root;
  }

  get touched(): readonly TreePath[] {
    return [...this.#touched.values()].map(({ path }) => path);
  }

  end(): void {
    this.#ended = true;
  }

  alive(): void {
    if (this.#ended) throw new FaultError(fault("NOT_POSSIBLE", "the call that these files were opened for has ended"));
  }

  look(path: TreePath): FileStat | null {
    const stats = this.#options.anchor.stats(path);
    if (stats === null) return null;
    return { kind: kindOf(stats), bytes: stats.size, mode: stats.mode & 0o7777, modifiedMs: stats.mtimeMs };
  }

  names(path: TreePath): readonly string[] {
    const { anchor, disk } = this.#options;
    return anchor.at([...path, "."], ({ directory }) =>
      namesIn((encoding) => disk.readdirSync(directory, { encoding: encoding as "utf8" })),
    );
  }

  reader(path: TreePath): Reader {
    const { anchor, disk } = this.#options;
    const { descriptor } = anchor.file(path, O_RDONLY);
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

  writer(path: TreePath, how: "replace" | "append"): Writer {
    this.alive();
    const { disk } = this.#options;
    const { descriptor, size: before } = this.#existing(path, how) ?? { descriptor: this.#create(path), size: 0 };
    let written = 0;
    return {
      write: (bytes) => {
        this.alive();
        try {
          writeAll(disk, descriptor, bytes);
        } catch (error) {
          throw diskFault(error, path.join("/"));
        }
        written += bytes.length;
      },
      close: () => {
        try {
          // What was there goes last: a file that is emptied first loses its place on the disk.
          if (how === "replace" && before > written && !this.#ended) disk.ftruncateSync(descriptor, written);
        } finally {
          disk.closeSync(descriptor);
        }
      },
    };
  }

  makeDirectory(path: TreePath): void {
    this.#remember([{ path, was: { kind: "absent" } }, ...this.#parent(path)]);
    this.#making(path, (place) => this.#options.disk.mkdirSync(place, 0o777));
  }

  remove(path: TreePath): void {
    this.alive();
    const stats = this.#options.anchor.stats(path);
    if (stats === null) return;
    const { disk, anchor } = this.#options;
    if (stats.isFile()) this.#keep(path, stats);
    else this.#remember([{ path, was: this.#unlinkable(path, stats) }, ...this.#parent(path)]);
    anchor.at(path, ({ place }) => (stats.isDirectory() ? disk.rmdirSync(place) : disk.unlinkSync(place)));
  }

  /** Makes durable what the call did, and says how it left everything. */
  settle(): readonly After[] {
    const { disk, anchor } = this.#options;
    return this.touched.map((path) => {
      const stats = anchor.stats(path);
      if (stats?.isFile() === true) {
        const { descriptor } = anchor.file(path, O_RDONLY);
        disk.fsyncSync(descriptor);
        disk.closeSync(descriptor);
      }
      if (stats?.isDirectory() === true) anchor.at([...path, "."], ({ directory }) => syncDirectory(disk, directory));
      return { path, mark: markOf(stats) };
    });
  }

  /** How these are is known before they are changed past the handle. */
  note(paths: readonly TreePath[]): void {
    const states: { path: TreePath; was: Was }[] = [];
    for (const path of paths.filter((each) => !this.#touched.has(each.join("/")))) {
      const stats = this.#options.anchor.stats(path);
      if (stats?.isFile() === true) this.#copy(path);
      else states.push({ path, was: stats === null ? { kind: "absent" } : this.#unlinkable(path, stats) });
    }
    this.#remember(states);
  }

  /** Opens a file once it is known how it was; null: nothing is there. */
  #existing(path: TreePath, how: "replace" | "append"): { readonly descriptor: number; readonly size: number } | null {
    const { disk } = this.#options;
    const opened = this.#opened(path, O_RDWR | (how === "append" ? O_APPEND : 0));
    if (opened === null) return null;
    const { descriptor, stats } = opened;
    try {
      if (stats.nlink > 1) throw forbidden(path.join("/"), "it has other names, perhaps outside the tree");
      if (!this.#touched.has(path.join("/"))) this.#rememberFile(path, descriptor, stats);
      return { descriptor, size: stats.size };
    } catch (error) {
      disk.closeSync(descriptor);
      throw diskFault(error, path.join("/"));
    }
  }

  #opened(path: TreePath, flags: number): ReturnType<Anchor["file"]> | null {
    try {
      return this.#options.anchor.file(path, flags);
    } catch (error) {
      if (error instanceof FaultError && error.fault.code === "FILE_NOT_FOUND") return null;
      throw error;
    }
  }

  #create(path: TreePath): number {
    this.#remember([{ path, was: { kind: "absent" } }, ...this.#parent(path)]);
    const flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    return this.#making(path, (place) => this.#options.disk.openSync(place, flags, 0o666));
  }

  /** What somebody else made in the same moment is not ours to remove. */
  #making<Made>(path: TreePath, make: (place: string | Buffer) => Made): Made {
    return this.#options.anchor.at(path, ({ place }) => {
      try {
        return make(place);
      } catch (error) {
        if (errorCode(error) !== "EEXIST") throw error;
        this.#remember([], (log) => log.append({ type: "unmade", path }));
        throw new FaultError(fault("RESOURCE_RESTLESS", `${shown(path.join("/"))} was just made by somebody else`));
      }
    });
  }

  #rememberFile(path: TreePath, descriptor: number, stats: Stats): void {
    const { disk, log, limits } = this.#options;
    if (log === null) return;
    const { size, ino } = stats;
    within(limits, "captureBytes", size, `the size of ${shown(path.join("/"))}`);
    const chunks = function* (): Generator<Uint8Array> {
      for (let at = 0; at < size; at += chunkBytes)
        yield readUpTo(disk, descriptor, Math.min(chunkBytes, size - at), at);
    };
    const was = (digest: Digest) => ({ kind: "file", ...standingOf(stats), size, ino, digest }) as const;
    if (size <= chunkBytes) {
      const bytes = readUpTo(disk, descriptor, size, 0);
      if (bytes.length !== size) throw restlessFile(path);
      log.append({ type: "was", path, was: was(hashOf([bytes])) }, bytes);
    } else {
      this.#rememberLarge(path, was(hashOf(chunks())), chunks());
    }
    log.sync();
    this.#touched.set(path.join("/"), { path, ino });
  }

  /** Read twice: once for its name, and once to be kept. It must be the same both times. */
  #rememberLarge(path: TreePath, was: Was & { readonly kind: "file" }, chunks: Iterable<Uint8Array>): void {
    try {
      this.#options.log?.appendFrom({ type: "was", path, was }, was.size, chunks);
    } catch (error) {
      throw error instanceof Torn ? restlessFile(path) : error;
    }
  }

  /** A file that is to be deleted is given another name first, so that all of it can come back. */
  #keep(path: TreePath, stats: Stats): void {
    const { anchor, disk, log, aside } = this.#options;
    const known = this.#touched.get(path.join("/"));
    // One that the call itself has made may go.
    if (log === null || (known !== undefined && known.ino !== stats.ino)) return;
    this.#moved += 1;
    log.hasAside = true;
    const name = `${log.id}.${this.#moved}`;
    try {
      anchor.at(path, ({ place }) => {
        disk.linkSync(place, `${aside}/${name}`);
        syncDirectory(disk, aside);
      });
    } catch (error) {
      const refused = error instanceof FaultError && /EXDEV|EPERM|EMLINK|ENOTSUP/.test(error.fault.message);
      if (!refused) throw error;
      this.#copy(path);
      return;
    }
    const { size, ino } = stats;
    const was: Was = { kind: "file", ...standingOf(stats), size, ino, digest: null };
    this.#remember([{ path, was }, ...this.#parent(path)], (written) => written.append({ type: "aside", path, name }));
  }

  /** On another file system only its content can be kept. */
  #copy(path: TreePath): void {
    const { anchor, disk } = this.#options;
    const { descriptor, stats } = anchor.file(path, O_RDONLY);
    try {
      if (stats.nlink > 1) throw forbidden(path.join("/"), "it has other names, and could not be moved aside");
      if (this.#touched.has(path.join("/"))) return;
      this.#mustBePlain(path);
      this.#rememberFile(path, descriptor, stats);
    } finally {
      disk.closeSync(descriptor);
    }
    this.#remember(this.#parent(path));
  }

  /** It can be made again as it is. */
  #mustBePlain(path: TreePath): void {
    const { anchor, attributes } = this.#options;
    const problems = anchor.at(path, ({ directory, name }) => attributes([`${directory}/${name}`]));
    if (problems.length > 0) throw new FaultError(fault("RESOURCE_UNFIT", problems.join("; ")));
  }

  /** How a link or an empty directory was. */
  #unlinkable(path: TreePath, stats: Stats): Was {
    if (stats.isDirectory()) {
      this.#mustBePlain(path);
      return { kind: "directory", ...standingOf(stats) };
    }
    if (!stats.isSymbolicLink())
      throw new FaultError(fault("FILE_UNFIT", `${shown(path.join("/"))} is no regular file`));
    const { anchor, disk } = this.#options;
    const target = anchor.at(path, ({ place }) => disk.readlinkSync(place, "buffer"));
    return { kind: "link", ...standingOf(stats), target: nameFrom(target) };
  }

  /** A directory has another time when an entry comes or goes. */
  #parent(path: TreePath): readonly { readonly path: TreePath; readonly was: Was }[] {
    const parent = path.slice(0, -1);
    const stats = this.#options.anchor.stats(parent);
    return stats === null ? [] : [{ path: parent, was: { kind: "directory", ...standingOf(stats) } }];
  }

  /** On disk when this returns, with one sync for all of it. */
  #remember(
    states: readonly { readonly path: TreePath; readonly was: Was }[],
    and: (log: CaptureLog) => void = () => {},
  ): void {
    this.alive();
    const { log } = this.#options;
    if (log === null) return;
    const unknown = states.filter(({ path }) => !this.#touched.has(path.join("/")));
    try {
      for (const { path, was } of unknown) log.append({ type: "was", path, was });
      and(log);
      log.sync();
    } catch (error) {
      throw diskFault(error, states[0]?.path.join("/") ?? "");
    }
    for (const { path, was } of unknown)
      this.#touched.set(path.join("/"), { path, ino: was.kind === "file" ? was.ino : null });
  }
}

function restlessFile(path: TreePath): FaultError {
  return new FaultError(fault("RESOURCE_RESTLESS", `${shown(path.join("/"))} changed while it was kept; try it again`));
}

/** By which it shows that somebody changed it. What was put back in the meantime has the same. */
export function markOf(stats: Stats | null): string {
  if (stats === null) return "absent";
  const { mode, uid, gid, mtime_us } = standingOf(stats);
  return stats.isDirectory() ? `directory ${mode}` : `${kindOf(stats)} ${stats.size} ${mode} ${uid} ${gid} ${mtime_us}`;
}

function kindOf(stats: Stats): FileStat["kind"] {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "directory";
  return stats.isSymbolicLink() ? "link" : "other";
}
