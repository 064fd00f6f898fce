import type { FileStat } from "./filesystem.ts";
import type { TreePath } from "./tree-path.ts";

/** What a filesystem stands on: paths were read and limits checked before; one step each, at once. */
export interface Ground {
  readonly root: string | null;
  /** Throws once the call that it was opened for has ended. */
  alive(): void;
  look(path: TreePath): FileStat | null;
  names(path: TreePath): readonly string[];
  reader(path: TreePath): Reader;
  writer(path: TreePath, how: "replace" | "append"): Writer;
  /** The directory above is there; nothing is at the path. */
  makeDirectory(path: TreePath): void;
  /** A file, a link, or an empty directory. */
  remove(path: TreePath): void;
}

export interface Reader {
  /** The next piece; null at the end. */
  next(most: number): Uint8Array | null;
  close(): void;
}

export interface Writer {
  write(bytes: Uint8Array): void;
  close(): void;
}
