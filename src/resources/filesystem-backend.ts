import type { FileStat } from "./filesystem-handle.ts";
import type { TreePath } from "./tree-path.ts";

/**
 * The storage below a `Filesystem`. Callers have already parsed the paths and checked the limits. Every method is
 * synchronous.
 */
export interface FilesystemBackend {
  readonly root: string | null;
  /** Throws if the call that this backend was opened for has ended. */
  assertOpen(): void;
  stat(path: TreePath): FileStat | null;
  list(path: TreePath): readonly string[];
  openReader(path: TreePath): FileReader;
  openWriter(path: TreePath, how: "replace" | "append"): FileWriter;
  /** The parent directory exists, and nothing exists at the path. */
  makeDirectory(path: TreePath): void;
  /** Removes a file, a link or an empty directory. */
  remove(path: TreePath): void;
}

export interface FileReader {
  /** Returns the next piece, or null at the end. */
  next(most: number): Uint8Array | null;
  close(): void;
}

export interface FileWriter {
  write(bytes: Uint8Array): void;
  close(): void;
}
