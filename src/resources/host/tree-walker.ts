import { constants, type Stats } from "node:fs";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Digest } from "../../core/values/ids.ts";
import { assertWithinLimit, type FileLimits } from "../file-limits.ts";
import { decodeFileName, encodeFilePath, readFileNames } from "../file-name-bytes.ts";
import { printablePath } from "../tree-path.ts";
import { type Disk, diskFault, errorCode } from "./disk.ts";
import { hashChunks, type ObjectStore } from "./object-store.ts";
import {
  type DirectoryNode,
  decodeDirectory,
  encodeDirectory,
  encodeTree,
  type FileNode,
  identityOf,
  isUnchanged,
  type LinkNode,
  metadataOf,
  type OtherNode,
  sameMetadata,
  type TreeNode,
} from "./tree-node.ts";

/** The number of scans of a changing tree before the call is refused. */
const maxScans = 3;
const problemsShown = 20;
/** A scan yields to the event loop after this time, so that a large tree does not block other work. */
const yieldAfterMs = 10;

export interface TreeWalkerOptions {
  readonly disk: Disk;
  readonly root: string;
  readonly exclude: readonly string[];
  readonly limits: FileLimits;
  readonly objects: ObjectStore;
  readonly now: () => number;
  /** Returns a problem for each path that could not be restored with its attributes. */
  readonly attributes: (paths: readonly string[]) => readonly string[];
}

/** The result of a scan. */
export interface TreeScan {
  readonly root: DirectoryNode;
  readonly digest: Digest;
  /** Paths that were skipped. */
  readonly excluded: readonly string[];
}

/** The paths that may have changed, as a tree of names. */
export type TouchedPaths = Map<string, TouchedPaths>;

/**
 * The purpose of a scan. capture: stores all contents and refuses a tree with entries that cannot be restored. record:
 * stores all contents and accepts such entries. hash: stores nothing.
 */
export type ScanPurpose = "capture" | "record" | "hash";

/** The tree changed during the scan. */
class TreeChangedError extends Error {}

/**
 * Scans a tree and stores the contents that are not stored yet. Reports all entries that cannot be restored at once.
 * Follows no link and changes nothing.
 */
export class TreeWalker {
  readonly #options: TreeWalkerOptions;

  constructor(options: TreeWalkerOptions) {
    this.#options = options;
  }

  /**
   * Scans the tree. Reads only the files that changed since the `previous` scan. With `only`, checks only these paths.
   */
  async scan(
    purpose: ScanPurpose,
    previous: DirectoryNode | null,
    only: TouchedPaths | null = null,
  ): Promise<TreeScan> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await new ScanPass(this.#options, purpose).run(previous, only);
      } catch (error) {
        if (!(error instanceof TreeChangedError)) throw error;
        if (tries === maxScans) throw changingTreeFault(this.#options.root, error.message);
      }
    }
  }

  /** Loads a tree that an earlier scan stored. */
  load(digest: Digest): DirectoryNode {
    const { objects } = this.#options;
    const below = (of: Digest): ReadonlyMap<string, TreeNode> =>
      decodeDirectory(Buffer.concat([...objects.read(of)]), below);
    const root = below(digest).get("");
    if (root?.kind !== "directory") throw new FaultError(fault("RESTORE_FAILED", `${digest} is not a stored tree`));
    return root;
  }
}

export function changingTreeFault(root: string, why: string): FaultError {
  return new FaultError(fault("RESOURCE_RESTLESS", `${printablePath(root)} changes during the scan: ${why}`));
}

class ScanPass {
  readonly #options: TreeWalkerOptions;
  readonly #purpose: ScanPurpose;
  readonly #now: number;
  readonly #problems: string[] = [];
  readonly #excluded: string[] = [];
  /** Paths that are new or changed. */
  readonly #changedPaths: string[] = [];
  readonly #hardLinked: { readonly path: string; readonly node: FileNode }[] = [];
  readonly #exclude: ReadonlySet<string>;
  readonly #currentUser = {
    user: process.geteuid?.() ?? 0,
    groups: new Set([process.getegid?.() ?? 0, ...(process.getgroups?.() ?? [])]),
  };
  /** True if some name is not UTF-8. */
  #hasByteNames = false;
  #device = 0;
  #entries = 0;
  #lastYieldMs = performance.now();

  constructor(options: TreeWalkerOptions, purpose: ScanPurpose) {
    this.#options = options;
    this.#purpose = purpose;
    this.#now = options.now();
    this.#exclude = new Set(options.exclude);
  }

  async run(previous: DirectoryNode | null, only: TouchedPaths | null): Promise<TreeScan> {
    const { root, attributes } = this.#options;
    const stats = this.#readStats(root);
    this.#device = stats.dev;
    const node = await this.#scanDirectory(root, stats, previous, only);
    if (only === null) this.#joinLinks();
    const strict = this.#purpose === "capture";
    if (strict && this.#changedPaths.length > 0) this.#problems.push(...attributes(this.#changedPaths));
    if (strict && this.#problems.length > 0) throw unsupportedFault(root, this.#problems);
    this.#setDigest(node);
    return { root: node, digest: this.#digest(encodeTree(node)), excluded: this.#excluded };
  }

  async #scanDirectory(
    path: string,
    stats: Stats,
    previous: DirectoryNode | null,
    only: TouchedPaths | null,
  ): Promise<DirectoryNode> {
    if (performance.now() - this.#lastYieldMs > yieldAfterMs) await this.#yield();
    const names = this.#readNames(path);
    const known = previous?.children;
    const nodes: (TreeNode | null)[] = [];
    let [count, same] = [0, 0];
    for (const name of names) {
      const before = known?.get(name);
      const found = this.#scanName(`${path}/${name}`, name, before, only);
      // An await for each file would take as long as reading its stats.
      const node = found instanceof Promise ? await found : found;
      nodes.push(node);
      if (node === null) continue;
      count += 1;
      if (node === before) same += 1;
    }
    this.#entries += count;
    assertWithinLimit(
      this.#options.limits,
      "treeEntries",
      this.#entries,
      `the number of entries in ${printablePath(this.#options.root)}`,
    );
    this.#assertUnmoved(path, stats);
    const metadata = metadataOf(stats);
    const unchanged = known !== undefined && same === count && count === known.size;
    if (unchanged && previous !== null && sameMetadata(previous, metadata)) return previous;
    const children = unchanged ? known : childMap(names, nodes);
    if (previous === null) this.#changedPaths.push(path);
    return { kind: "directory", ...metadata, children, identity: identityOf(stats, this.#now), digest: null };
  }

  /** Returns the node of an entry, or null if its name is excluded. */
  #scanName(path: string, name: string, before: TreeNode | undefined, only: TouchedPaths | null) {
    if (only !== null && before !== undefined && !only.has(name)) return before;
    return this.#exclude.has(name) ? this.#addExcluded(path) : this.#scanEntry(path, before, only?.get(name) ?? null);
  }

  #scanEntry(path: string, before: TreeNode | undefined, only: TouchedPaths | null): TreeNode | Promise<DirectoryNode> {
    const stats = this.#readStats(path);
    if (stats.isDirectory()) {
      if (stats.dev !== this.#device) return this.#makeOther(path, stats, "has another file system mounted on it");
      if (!this.#isOwned(stats)) return this.#makeOther(path, stats, "belongs to another user");
      return this.#scanDirectory(path, stats, before?.kind === "directory" ? before : null, only);
    }
    const known = before !== undefined && isUnchanged(before, stats) ? before : null;
    const node = known ?? this.#readNode(path, stats);
    if (node.kind === "file" && stats.nlink > 1) this.#hardLinked.push({ path, node });
    return node;
  }

  /** Reads an entry that is new or changed. */
  #readNode(path: string, stats: Stats): TreeNode {
    if (!this.#isOwned(stats)) return this.#makeOther(path, stats, "belongs to another user");
    if (stats.isSymbolicLink()) return this.#readLink(path, stats);
    if (!stats.isFile()) return this.#makeOther(path, stats, `is ${kindOf(stats)}, which cannot be captured`);
    if (stats.size > this.#options.limits.captureBytes)
      return this.#makeOther(path, stats, `is larger than captureBytes (${this.#options.limits.captureBytes})`);
    this.#changedPaths.push(path);
    return this.#readFile(path, stats);
  }

  #readLink(path: string, stats: Stats): LinkNode | OtherNode {
    const target = this.#readOrNull(path, () => this.#options.disk.readlinkSync(encodeFilePath(path), "buffer"));
    if (target === null) return this.#makeOther(path, stats, "cannot be read");
    return {
      kind: "link",
      ...metadataOf(stats),
      target: decodeFileName(target),
      identity: identityOf(stats, this.#now),
    };
  }

  #readFile(path: string, stats: Stats): FileNode | OtherNode {
    const { disk, objects } = this.#options;
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    const file = this.#readOrNull(path, () => disk.openSync(encodeFilePath(path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    if (file === null) return this.#makeOther(path, stats, "cannot be read");
    try {
      if (!isSameFile(disk.fstatSync(file), stats))
        throw new TreeChangedError(`${printablePath(path)} was replaced while it was read`);
      const digest = this.#purpose === "hash" ? objects.hashFile(file, stats.size) : objects.putFile(file, stats.size);
      if (digest === null || !isSameFile(disk.fstatSync(file), stats))
        throw new TreeChangedError(`${printablePath(path)} changed while it was read`);
      const { size, ino, nlink } = stats;
      const identity = identityOf(stats, this.#now);
      return { kind: "file", ...metadataOf(stats), size, digest, linkOf: null, ino, nlink, identity };
    } catch (error) {
      throw error instanceof TreeChangedError ? error : diskFault(error, path);
    } finally {
      disk.closeSync(file);
    }
  }

  /**
   * Groups hard links. All links of a file must be inside the tree; otherwise a restore would change a file outside it.
   */
  #joinLinks(): void {
    const groups = new Map<number, { readonly path: string; readonly node: FileNode }[]>();
    for (const linked of this.#hardLinked) {
      const group = groups.get(linked.node.ino) ?? [];
      group.push(linked);
      groups.set(linked.node.ino, group);
    }
    for (const group of groups.values()) {
      const [first, ...others] = group.sort((left, right) => (left.path < right.path ? -1 : 1));
      if (first === undefined) continue;
      if (first.node.nlink !== group.length) this.#addProblem(first.path, "has a hard link outside the tree");
      for (const { node } of others) node.linkOf = this.#relativePath(first.path);
    }
  }

  #addExcluded(path: string): null {
    this.#excluded.push(this.#relativePath(path));
    return null;
  }

  /** Makes a node for an entry that cannot be captured. Its description changes with the entry. */
  #makeOther(path: string, stats: Stats, why: string): OtherNode {
    this.#addProblem(path, why);
    const { ino, size, ctimeMs } = stats;
    return { kind: "other", ...metadataOf(stats), what: `${why} (${ino} ${size} ${ctimeMs})`, identity: null };
  }

  #addProblem(path: string, why: string): void {
    this.#problems.push(`${printablePath(this.#relativePath(path))} ${why}`);
  }

  #digest(bytes: Uint8Array): Digest {
    return this.#purpose === "hash" ? hashChunks([bytes]) : this.#options.objects.put(bytes);
  }

  #relativePath(path: string): string {
    return path.slice(this.#options.root.length + 1);
  }

  #readStats(path: string): Stats {
    const stats = this.#options.disk.lstatSync(this.#encodePath(path), { throwIfNoEntry: false });
    if (stats === undefined) throw new TreeChangedError(`${printablePath(path)} vanished during the scan`);
    return stats;
  }

  #encodePath(path: string): string | Buffer {
    return this.#hasByteNames ? encodeFilePath(path) : path;
  }

  #readNames(path: string): readonly string[] {
    const { disk } = this.#options;
    const place = this.#encodePath(path);
    const names = this.#readOrNull(path, () =>
      readFileNames((encoding) => {
        if (encoding === "buffer") this.#hasByteNames = true;
        return disk.readdirSync(place, { encoding: encoding as "utf8" });
      }),
    );
    if (names === null) this.#addProblem(path, "cannot be read");
    return names ?? [];
  }

  /** Returns the result of a system call, or null if permission is denied. */
  #readOrNull<Answer>(path: string, ask: () => Answer): Answer | null {
    try {
      return ask();
    } catch (error) {
      const code = errorCode(error);
      if (code === "EACCES" || code === "EPERM") return null;
      if (code === "ENOENT" || code === "ELOOP" || code === "ENOTDIR")
        throw new TreeChangedError(`${printablePath(path)} vanished during the scan`);
      throw diskFault(error, path);
    }
  }

  /** Throws if the directory was replaced or its entries changed during the scan. */
  #assertUnmoved(path: string, before: Stats): void {
    const after = this.#readStats(path);
    if (after.ino !== before.ino || after.mtimeMs !== before.mtimeMs || after.ctimeMs !== before.ctimeMs)
      throw new TreeChangedError(`${printablePath(path)} changed during the scan`);
  }

  /** True if this process could restore the owner and the mode of the entry. */
  #isOwned({ uid, gid }: Stats): boolean {
    const { user, groups } = this.#currentUser;
    return user === 0 || (user === uid && groups.has(gid));
  }

  #setDigest(node: DirectoryNode): void {
    if (node.digest !== null) return;
    for (const child of node.children.values()) if (child.kind === "directory") this.#setDigest(child);
    node.digest = this.#digest(encodeDirectory(node));
  }

  async #yield(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#lastYieldMs = performance.now();
  }
}

function childMap(names: readonly string[], nodes: readonly (TreeNode | null)[]): ReadonlyMap<string, TreeNode> {
  const children = new Map<string, TreeNode>();
  for (const [at, node] of nodes.entries()) if (node !== null) children.set(names[at] as string, node);
  return children;
}

function isSameFile(now: Stats, seen: Stats): boolean {
  return now.ino === seen.ino && now.size === seen.size && now.mtimeMs === seen.mtimeMs && now.ctimeMs === seen.ctimeMs;
}

function kindOf(stats: Stats): string {
  if (stats.isFIFO()) return "a pipe";
  if (stats.isSocket()) return "a socket";
  return "a device";
}

function unsupportedFault(root: string, problems: readonly string[]): FaultError {
  const more = problems.length > problemsShown ? ` and ${problems.length - problemsShown} more` : "";
  const shown = problems.slice(0, problemsShown);
  const message = `${printablePath(root)} cannot be restored exactly: ${shown.join("; ")}${more}`;
  return new FaultError(fault("RESOURCE_UNFIT", message, { problems: shown }));
}
