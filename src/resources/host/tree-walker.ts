import { constants, type Stats } from "node:fs";
import { FaultError, fault } from "../../core/fault.ts";
import type { Digest } from "../../core/id.ts";
import { type FileLimits, within } from "../file-limits.ts";
import { shown } from "../tree-path.ts";
import { type Disk, diskFault, errorCode } from "./disk.ts";
import { nameFrom, namesIn, osPath } from "./name-bytes.ts";
import { hashOf, type ObjectStore } from "./object-store.ts";
import {
  type DirectoryNode,
  decodeDirectory,
  encodeDirectory,
  encodeTree,
  type FileNode,
  identityOf,
  isSame,
  type LinkNode,
  type OtherNode,
  sameStanding,
  standingOf,
  type TreeNode,
} from "./tree-node.ts";

/** How often a tree that moves is looked at before it is given up. */
const looksMax = 3;
const problemsShown = 20;
/** How long others may wait while a large tree is walked. */
const breathMs = 10;

export interface WalkerOptions {
  readonly disk: Disk;
  readonly root: string;
  readonly exclude: readonly string[];
  readonly limits: FileLimits;
  readonly objects: ObjectStore;
  readonly now: () => number;
  /** Why some of these files could not be put back as they are. */
  readonly attributes: (paths: readonly string[]) => readonly string[];
}

/** A tree as it stands. */
export interface Look {
  readonly root: DirectoryNode;
  readonly digest: Digest;
  /** What is there and was not looked at. */
  readonly excluded: readonly string[];
}

/** The places that may have changed, by name and below. */
export type Touched = Map<string, Touched>;

/**
 * What a look is for. keep: everything must be such that it can be put back, and is kept. note: the same, but what could not
 * be put back is only noted. see: nothing is kept.
 */
export type Purpose = "keep" | "note" | "see";

/** Somebody changed the tree while it was looked at. */
class Moved extends Error {}

/**
 * Looks at every file of a tree and keeps the content of those that are not known yet. Whatever could not be put back is a reason
 * to refuse, and all of them are told at once. Nothing is followed, nothing is changed.
 */
export class TreeWalker {
  readonly #options: WalkerOptions;

  constructor(options: WalkerOptions) {
    this.#options = options;
  }

  /** With what was seen before, only what changed is read; with `only`, only these places are looked at at all. */
  async look(purpose: Purpose, previous: DirectoryNode | null, only: Touched | null = null): Promise<Look> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await new Pass(this.#options, purpose).look(previous, only);
      } catch (error) {
        if (!(error instanceof Moved)) throw error;
        if (tries === looksMax) throw restless(this.#options.root, error.message);
      }
    }
  }

  /** A tree that was looked at before, from what was kept of it. */
  load(digest: Digest): DirectoryNode {
    const { objects } = this.#options;
    const below = (of: Digest): ReadonlyMap<string, TreeNode> =>
      decodeDirectory(Buffer.concat([...objects.read(of)]), below);
    const root = below(digest).get("");
    if (root?.kind !== "directory") throw new FaultError(fault("RESTORE_FAILED", `${digest} is no tree`));
    return root;
  }
}

export function restless(root: string, why: string): FaultError {
  return new FaultError(fault("RESOURCE_RESTLESS", `${shown(root)} does not hold still: ${why}`));
}

class Pass {
  readonly #options: WalkerOptions;
  readonly #purpose: Purpose;
  readonly #now: number;
  readonly #problems: string[] = [];
  readonly #excluded: string[] = [];
  /** Seen for the first time, or changed. */
  readonly #fresh: string[] = [];
  readonly #linked: { readonly path: string; readonly node: FileNode }[] = [];
  readonly #exclude: ReadonlySet<string>;
  readonly #us = {
    user: process.geteuid?.() ?? 0,
    groups: new Set([process.getegid?.() ?? 0, ...(process.getgroups?.() ?? [])]),
  };
  /** Some name is made of bytes that are no text. */
  #odd = false;
  #device = 0;
  #entries = 0;
  #breath = performance.now();

  constructor(options: WalkerOptions, purpose: Purpose) {
    this.#options = options;
    this.#purpose = purpose;
    this.#now = options.now();
    this.#exclude = new Set(options.exclude);
  }

  async look(previous: DirectoryNode | null, only: Touched | null): Promise<Look> {
    const { root, attributes } = this.#options;
    const stats = this.#stats(root);
    this.#device = stats.dev;
    const node = await this.#directory(root, stats, previous, only);
    if (only === null) this.#joinLinks();
    const strict = this.#purpose === "keep";
    if (strict && this.#fresh.length > 0) this.#problems.push(...attributes(this.#fresh));
    if (strict && this.#problems.length > 0) throw unfit(root, this.#problems);
    this.#seal(node);
    return { root: node, digest: this.#digest(encodeTree(node)), excluded: this.#excluded };
  }

  async #directory(
    path: string,
    stats: Stats,
    previous: DirectoryNode | null,
    only: Touched | null,
  ): Promise<DirectoryNode> {
    if (performance.now() - this.#breath > breathMs) await this.#breathe();
    const names = this.#names(path);
    const known = previous?.children;
    const nodes: (TreeNode | null)[] = [];
    let [count, same] = [0, 0];
    for (const name of names) {
      const before = known?.get(name);
      const found = this.#found(`${path}/${name}`, name, before, only);
      // Waiting for each of ten thousand files would take as long as looking at them.
      const node = found instanceof Promise ? await found : found;
      nodes.push(node);
      if (node === null) continue;
      count += 1;
      if (node === before) same += 1;
    }
    this.#entries += count;
    within(this.#options.limits, "treeEntries", this.#entries, `what is in ${shown(this.#options.root)}`);
    this.#holdsStill(path, stats);
    const standing = standingOf(stats);
    const unchanged = known !== undefined && same === count && count === known.size;
    if (unchanged && previous !== null && sameStanding(previous, standing)) return previous;
    const children = unchanged ? known : mapOf(names, nodes);
    if (previous === null) this.#fresh.push(path);
    return { kind: "directory", ...standing, children, identity: identityOf(stats, this.#now), digest: null };
  }

  /** Nothing, where a name is left out. */
  #found(path: string, name: string, before: TreeNode | undefined, only: Touched | null) {
    if (only !== null && before !== undefined && !only.has(name)) return before;
    return this.#exclude.has(name) ? this.#leaveOut(path) : this.#entry(path, before, only?.get(name) ?? null);
  }

  #entry(path: string, before: TreeNode | undefined, only: Touched | null): TreeNode | Promise<DirectoryNode> {
    const stats = this.#stats(path);
    if (stats.isDirectory()) {
      if (stats.dev !== this.#device) return this.#problem(path, stats, "has another file system mounted on it");
      if (!this.#owned(stats)) return this.#problem(path, stats, "belongs to somebody else");
      return this.#directory(path, stats, before?.kind === "directory" ? before : null, only);
    }
    const known = before !== undefined && isSame(before, stats) ? before : null;
    const node = known ?? this.#unread(path, stats);
    if (node.kind === "file" && stats.nlink > 1) this.#linked.push({ path, node });
    return node;
  }

  /** Something that must be read. */
  #unread(path: string, stats: Stats): TreeNode {
    if (!this.#owned(stats)) return this.#problem(path, stats, "belongs to somebody else");
    if (stats.isSymbolicLink()) return this.#link(path, stats);
    if (!stats.isFile()) return this.#problem(path, stats, `is ${kindOf(stats)}, which cannot be kept`);
    if (stats.size > this.#options.limits.captureBytes)
      return this.#problem(path, stats, `is larger than captureBytes, which is ${this.#options.limits.captureBytes}`);
    this.#fresh.push(path);
    return this.#file(path, stats);
  }

  #link(path: string, stats: Stats): LinkNode | OtherNode {
    const target = this.#asked(path, () => this.#options.disk.readlinkSync(osPath(path), "buffer"));
    if (target === null) return this.#problem(path, stats, "cannot be read");
    return { kind: "link", ...standingOf(stats), target: nameFrom(target), identity: identityOf(stats, this.#now) };
  }

  #file(path: string, stats: Stats): FileNode | OtherNode {
    const { disk, objects } = this.#options;
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    const file = this.#asked(path, () => disk.openSync(osPath(path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    if (file === null) return this.#problem(path, stats, "cannot be read");
    try {
      if (!isTheSameFile(disk.fstatSync(file), stats)) throw new Moved(`${shown(path)} was replaced while it was read`);
      const digest = this.#purpose === "see" ? objects.hashFile(file, stats.size) : objects.putFile(file, stats.size);
      if (digest === null || !isTheSameFile(disk.fstatSync(file), stats))
        throw new Moved(`${shown(path)} changed while it was read`);
      const { size, ino, nlink } = stats;
      const identity = identityOf(stats, this.#now);
      return { kind: "file", ...standingOf(stats), size, digest, linkOf: null, ino, nlink, identity };
    } catch (error) {
      throw error instanceof Moved ? error : diskFault(error, path);
    } finally {
      disk.closeSync(file);
    }
  }

  /** Several names of one file are all of them in the tree, or a change to it would be one outside. */
  #joinLinks(): void {
    const groups = new Map<number, { readonly path: string; readonly node: FileNode }[]>();
    for (const linked of this.#linked) {
      const group = groups.get(linked.node.ino) ?? [];
      group.push(linked);
      groups.set(linked.node.ino, group);
    }
    for (const group of groups.values()) {
      const [first, ...others] = group.sort((left, right) => (left.path < right.path ? -1 : 1));
      if (first === undefined) continue;
      if (first.node.nlink !== group.length) this.#tell(first.path, "has another name outside the tree");
      for (const { node } of others) node.linkOf = this.#below(first.path);
    }
  }

  #leaveOut(path: string): null {
    this.#excluded.push(this.#below(path));
    return null;
  }

  /** Something that cannot be kept, known by what changes with it. */
  #problem(path: string, stats: Stats, why: string): OtherNode {
    this.#tell(path, why);
    const { ino, size, ctimeMs } = stats;
    return { kind: "other", ...standingOf(stats), what: `${why} (${ino} ${size} ${ctimeMs})`, identity: null };
  }

  #tell(path: string, why: string): void {
    this.#problems.push(`${shown(this.#below(path))} ${why}`);
  }

  #digest(bytes: Uint8Array): Digest {
    return this.#purpose === "see" ? hashOf([bytes]) : this.#options.objects.put(bytes);
  }

  #below(path: string): string {
    return path.slice(this.#options.root.length + 1);
  }

  #stats(path: string): Stats {
    const stats = this.#options.disk.lstatSync(this.#place(path), { throwIfNoEntry: false });
    if (stats === undefined) throw new Moved(`${shown(path)} vanished while it was looked at`);
    return stats;
  }

  #place(path: string): string | Buffer {
    return this.#odd ? osPath(path) : path;
  }

  #names(path: string): readonly string[] {
    const { disk } = this.#options;
    const place = this.#place(path);
    const names = this.#asked(path, () =>
      namesIn((encoding) => {
        if (encoding === "buffer") this.#odd = true;
        return disk.readdirSync(place, { encoding: encoding as "utf8" });
      }),
    );
    if (names === null) this.#tell(path, "cannot be read");
    return names ?? [];
  }

  /** What the operating system answers; null if it will not tell, which is a reason to refuse. */
  #asked<Answer>(path: string, ask: () => Answer): Answer | null {
    try {
      return ask();
    } catch (error) {
      const code = errorCode(error);
      if (code === "EACCES" || code === "EPERM") return null;
      if (code === "ENOENT" || code === "ELOOP" || code === "ENOTDIR")
        throw new Moved(`${shown(path)} vanished while it was looked at`);
      throw diskFault(error, path);
    }
  }

  /** A directory that is another one now, or has other entries, was not seen as it is. */
  #holdsStill(path: string, before: Stats): void {
    const after = this.#stats(path);
    if (after.ino !== before.ino || after.mtimeMs !== before.mtimeMs || after.ctimeMs !== before.ctimeMs)
      throw new Moved(`${shown(path)} changed while it was looked at`);
  }

  /** Only its owner, or root, could give it its owner and its mode back. */
  #owned({ uid, gid }: Stats): boolean {
    const { user, groups } = this.#us;
    return user === 0 || (user === uid && groups.has(gid));
  }

  #seal(node: DirectoryNode): void {
    if (node.digest !== null) return;
    for (const child of node.children.values()) if (child.kind === "directory") this.#seal(child);
    node.digest = this.#digest(encodeDirectory(node));
  }

  async #breathe(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#breath = performance.now();
  }
}

function mapOf(names: readonly string[], nodes: readonly (TreeNode | null)[]): ReadonlyMap<string, TreeNode> {
  const children = new Map<string, TreeNode>();
  for (const [at, node] of nodes.entries()) if (node !== null) children.set(names[at] as string, node);
  return children;
}

function isTheSameFile(now: Stats, seen: Stats): boolean {
  return now.ino === seen.ino && now.size === seen.size && now.mtimeMs === seen.mtimeMs && now.ctimeMs === seen.ctimeMs;
}

function kindOf(stats: Stats): string {
  if (stats.isFIFO()) return "a pipe";
  if (stats.isSocket()) return "a socket";
  return "a device";
}

function unfit(root: string, problems: readonly string[]): FaultError {
  const more = problems.length > problemsShown ? ` and ${problems.length - problemsShown} more` : "";
  const told = problems.slice(0, problemsShown);
  const message = `${shown(root)} could not be put back as it is: ${told.join("; ")}${more}`;
  return new FaultError(fault("RESOURCE_UNFIT", message, { problems: told }));
}
