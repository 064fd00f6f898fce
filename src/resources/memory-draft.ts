import { FaultError, fault } from "../core/fault.ts";
import type { FileStat } from "./filesystem.ts";
import type { Ground, Reader, Writer } from "./ground.ts";
import { emptyDirectory, type MemoryDirectory, nodeAt, withNode } from "./memory-tree.ts";
import { shown, type TreePath } from "./tree-path.ts";

/** A private version of the files. Until it is published nobody else sees it, so that dropping it undoes it. */
export class MemoryDraft implements Ground {
  readonly root = null;
  /** How many versions had been published when it was begun. */
  readonly since: number;
  /** Paths; `all` when it has become another tree altogether. */
  written: Set<string> | "all" = new Set<string>();
  readonly seen = new Set<string>();
  /** Directories whose names were asked for. */
  readonly listed = new Set<string>();
  readonly #now: () => number;
  tree: MemoryDirectory;
  state: "open" | "published" | "dropped" = "open";

  constructor(tree: MemoryDirectory, since: number, now: () => number) {
    this.tree = tree;
    this.since = since;
    this.#now = now;
  }

  alive(): void {
    if (this.state !== "open")
      throw new FaultError(fault("NOT_POSSIBLE", "the call that these files were opened for has ended"));
  }

  look(path: TreePath): FileStat | null {
    this.seen.add(path.join("/"));
    const node = nodeAt(this.tree, path);
    if (node === null) return null;
    if (node.kind === "file")
      return { kind: "file", bytes: node.bytes.length, mode: 0o644, modifiedMs: node.modifiedMs };
    return { kind: "directory", bytes: 0, mode: 0o755, modifiedMs: node.modifiedMs };
  }

  names(path: TreePath): readonly string[] {
    this.listed.add(path.join("/"));
    const node = nodeAt(this.tree, path);
    return node?.kind === "directory" ? [...node.entries].map(([name]) => name) : [];
  }

  reader(path: TreePath): Reader {
    this.seen.add(path.join("/"));
    const bytes = this.#file(path);
    let at = 0;
    return {
      next: (most) => {
        // Copied: a slice of a buffer is the buffer itself, and whoever reads may write in what they are given.
        const chunk = Uint8Array.from(bytes.subarray(at, at + most));
        at += chunk.length;
        return chunk.length === 0 ? null : chunk;
      },
      close: () => {},
    };
  }

  writer(path: TreePath, how: "replace" | "append"): Writer {
    const node = nodeAt(this.tree, path);
    if (node?.kind === "directory") throw unfit(path, "is a directory");
    const chunks: Uint8Array[] = how === "append" && node !== null ? [node.bytes] : [];
    return {
      // Copied, because the caller may use its buffer again.
      write: (bytes) => void chunks.push(Uint8Array.from(bytes)),
      close: () => this.#set(path, { kind: "file", bytes: Buffer.concat(chunks), modifiedMs: this.#now() }),
    };
  }

  makeDirectory(path: TreePath): void {
    this.#set(path, { ...emptyDirectory, modifiedMs: this.#now() });
  }

  remove(path: TreePath): void {
    this.#set(path, null);
  }

  /** All of it is what it was at another time. */
  become(tree: MemoryDirectory): void {
    this.alive();
    this.written = "all";
    this.tree = tree;
  }

  /** What it wrote, put into a newer tree. */
  onto(tree: MemoryDirectory): MemoryDirectory {
    if (this.written === "all") return this.tree;
    return [...this.written].reduce((merged, path) => {
      const place = path.split("/");
      return withNode(merged, place, nodeAt(this.tree, place), this.#now());
    }, tree);
  }

  #set(path: TreePath, node: Parameters<typeof withNode>[2]): void {
    this.alive();
    if (this.written !== "all") this.written.add(path.join("/"));
    this.tree = withNode(this.tree, path, node, this.#now());
  }

  #file(path: TreePath): Uint8Array {
    const node = nodeAt(this.tree, path);
    if (node === null) throw new FaultError(fault("FILE_NOT_FOUND", `nothing is at ${shown(path.join("/"))}`));
    if (node.kind === "directory") throw unfit(path, "is a directory");
    return node.bytes;
  }
}

function unfit(path: TreePath, why: string): FaultError {
  return new FaultError(fault("FILE_UNFIT", `${shown(path.join("/"))} ${why}`));
}
