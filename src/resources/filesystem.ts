/**
 * Files as a tool sees them: below one root, by relative paths with forward slashes, never through a link. Everything that
 * goes wrong is a fault; every limit has a name (`file-limits.ts`). What was written is kept or undone by the call as a whole.
 */
export interface Filesystem {
  /** Where a program could be pointed at; null where there is no such place, or the tool may only use this handle. */
  readonly root: string | null;

  /** What is at a path, a link itself and not where it leads; null: nothing. */
  stat(path: string): Promise<FileStat | null>;
  /** The entries of a directory, by name. The root is "". */
  list(path: string): Promise<readonly FileEntry[]>;
  /** Paths of files: `*` and `?` within a name, `**` across names, `{a,b}` for either. Sorted. */
  glob(pattern: string): Promise<readonly string[]>;
  /** The lines that contain a text. Not a regular expression: one that a model wrote could run for ever. */
  grep(text: string, options?: GrepOptions): Promise<readonly GrepMatch[]>;

  read(path: string): Promise<Uint8Array>;
  /** As UTF-8; anything else is refused. */
  readText(path: string): Promise<string>;
  /** Piece by piece, for files of any size. */
  readStream(path: string): AsyncIterable<Uint8Array>;

  /** Makes the directories above, too. */
  write(path: string, content: string | Uint8Array, options?: WriteOptions): Promise<void>;
  append(path: string, content: string | Uint8Array): Promise<void>;
  writeStream(path: string, chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void>;
  /** Replaces a text that is there exactly once, or every occurrence; answers how many. */
  edit(path: string, edit: Edit): Promise<number>;
  /** With the directories above it. Harmless if it is there. */
  mkdir(path: string): Promise<void>;
  /** A file, a link or an empty directory; with `recursive` a whole one. */
  delete(path: string, options?: DeleteOptions): Promise<void>;
}

export interface FileStat {
  readonly kind: "file" | "directory" | "link" | "other";
  readonly bytes: number;
  /** Permission bits. */
  readonly mode: number;
  readonly modifiedMs: number;
}

export interface FileEntry {
  readonly name: string;
  readonly kind: FileStat["kind"];
}

export interface WriteOptions {
  /** Default: replace. */
  readonly ifExists?: "replace" | "refuse";
}

export interface DeleteOptions {
  readonly recursive?: boolean;
}

export interface Edit {
  readonly find: string;
  readonly replace: string;
  /** Default: once, and it is refused if the text is there more often. */
  readonly times?: "once" | "all";
}

export interface GrepOptions {
  /** Only in files whose path fits. */
  readonly glob?: string;
  readonly ignoreCase?: boolean;
}

export interface GrepMatch {
  readonly path: string;
  /** From 1. */
  readonly line: number;
  readonly text: string;
}
