import { FaultError, fault } from "../../core/values/fault.ts";
import type { FileReader, FilesystemBackend, FileWriter } from "../filesystem-backend.ts";
import type { FileStat } from "../filesystem-handle.ts";
import { printablePath, type TreePath } from "../tree-path.ts";
import {
  emptyDirectory,
  type MemoryDirectory,
  type MemoryNode,
  memoryNodeAt,
  withMemoryNode,
} from "./memory-directory.ts";

/**
 * The private version of the files that one call changes. Other calls do not see it until it is published; dropping it
 * undoes it.
 */
export class MemoryDraft implements FilesystemBackend {
  readonly root = null;
  /** The number of versions that were published when the draft was created. */
  readonly baseVersion: number;
  /** The paths that the call wrote; `all` after the whole tree was replaced. */
  writtenPaths: Set<string> | "all" = new Set<string>();
  readonly readPaths = new Set<string>();
  /** Directories that the call listed. */
  readonly listedPaths = new Set<string>();
  readonly #now: () => number;
  tree: MemoryDirectory;
  state: "open" | "published" | "dropped" = "open";

  constructor(tree: MemoryDirectory, baseVersion: number, now: () => number) {
    this.tree = tree;
    this.baseVersion = baseVersion;
    this.#now = now;
  }

  assertOpen(): void {
    if (this.state !== "open")
      throw new FaultError(fault("NOT_POSSIBLE", "the call that opened these files has ended"));
  }

  stat(path: TreePath): FileStat | null {
    this.readPaths.add(path.join("/"));
    const node = memoryNodeAt(this.tree, path);
    if (node === null) return null;
    if (node.kind === "file")
      return { kind: "file", bytes: node.bytes.length, mode: 0o644, modifiedMs: node.modifiedMs };
    return { kind: "directory", bytes: 0, mode: 0o755, modifiedMs: node.modifiedMs };
  }

  list(path: TreePath): readonly string[] {
    this.listedPaths.add(path.join("/"));
    const node = memoryNodeAt(this.tree, path);
    return node?.kind === "directory" ? [...node.entries].map(([name]) => name) : [];
  }

  openReader(path: TreePath): FileReader {
    this.readPaths.add(path.join("/"));
    const bytes = this.#readFile(path);
    let at = 0;
    return {
      next: (most) => {
        // Copied, because a subarray shares its memory and the reader may write into the chunk.
        const chunk = Uint8Array.from(bytes.subarray(at, at + most));
        at += chunk.length;
        return chunk.length === 0 ? null : chunk;
      },
      close: () => {},
    };
  }

  openWriter(path: TreePath, how: "replace" | "append"): FileWriter {
    const node = memoryNodeAt(this.tree, path);
    if (node?.kind === "directory") throw unfitFault(path, "is a directory");
    const chunks: Uint8Array[] = how === "append" && node !== null ? [node.bytes] : [];
    return {
      // Copied, because the caller may reuse its buffer.
      write: (bytes) => void chunks.push(Uint8Array.from(bytes)),
      close: () => this.#setNode(path, { kind: "file", bytes: Buffer.concat(chunks), modifiedMs: this.#now() }),
    };
  }

  makeDirectory(path: TreePath): void {
    this.#setNode(path, { ...emptyDirectory, modifiedMs: this.#now() });
  }

  remove(path: TreePath): void {
    this.#setNode(path, null);
  }

  /** Puts an earlier node back, or removes the entry if there was none. */
  put(path: TreePath, node: MemoryNode | null): void {
    this.#setNode(path, node);
  }

  /** Replaces the whole tree with an earlier one. */
  replaceTree(tree: MemoryDirectory): void {
    this.assertOpen();
    this.writtenPaths = "all";
    this.tree = tree;
  }

  /** Returns a newer tree with the writes of this draft applied. */
  mergeInto(tree: MemoryDirectory): MemoryDirectory {
    if (this.writtenPaths === "all") return this.tree;
    return [...this.writtenPaths].reduce((merged, path) => {
      const place = path.split("/");
      return withMemoryNode(merged, place, memoryNodeAt(this.tree, place), this.#now());
    }, tree);
  }

  #setNode(path: TreePath, node: Parameters<typeof withMemoryNode>[2]): void {
    this.assertOpen();
    if (this.writtenPaths !== "all") this.writtenPaths.add(path.join("/"));
    this.tree = withMemoryNode(this.tree, path, node, this.#now());
  }

  #readFile(path: TreePath): Uint8Array {
    const node = memoryNodeAt(this.tree, path);
    if (node === null) throw new FaultError(fault("FILE_NOT_FOUND", `${printablePath(path.join("/"))} does not exist`));
    if (node.kind === "directory") throw unfitFault(path, "is a directory");
    return node.bytes;
  }
}

function unfitFault(path: TreePath, why: string): FaultError {
  return new FaultError(fault("FILE_UNFIT", `${printablePath(path.join("/"))} ${why}`));
}
