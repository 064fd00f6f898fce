/**
 * The files that a tool can use: below one root, by relative paths with forward slashes. Links are never followed.
 * Every failure is a fault, and every limit has a name (`file-limits.ts`). The changes of a call are kept or undone
 * together.
 */
export interface Filesystem {
  /**
   * The path of the root for programs that the tool starts. Null for a tree in memory, and for a tool that may only use
   * this handle.
   */
  readonly root: string | null;

  /** Returns what exists at a path, or null. A link is not followed. */
  stat(path: string): Promise<FileStat | null>;
  /** Returns the entries of a directory, sorted by name. The root is "". */
  list(path: string): Promise<readonly FileEntry[]>;
  /**
   * Returns the sorted paths of the files that match: `*` and `?` within a name, `**` across names, `{a,b}` for either.
   */
  glob(pattern: string): Promise<readonly string[]>;
  /**
   * Returns the lines that contain a text. It takes no regular expression, because one that a model wrote could run
   * forever.
   */
  grep(text: string, options?: GrepOptions): Promise<readonly GrepMatch[]>;

  read(path: string): Promise<Uint8Array>;
  /** Reads UTF-8 text. Rejects any other encoding. */
  readText(path: string): Promise<string>;
  /** Reads in pieces, for files of any size. */
  readStream(path: string): AsyncIterable<Uint8Array>;

  /** Writes a file, and creates missing parent directories. */
  write(path: string, content: string | Uint8Array, options?: WriteOptions): Promise<void>;
  append(path: string, content: string | Uint8Array): Promise<void>;
  writeStream(path: string, chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void>;
  /** Replaces a text that occurs exactly once, or every occurrence. Returns the number of replacements. */
  edit(path: string, edit: FileEdit): Promise<number>;
  /** Creates a directory with its missing parents. Does nothing if it exists. */
  mkdir(path: string): Promise<void>;
  /** Deletes a file, a link or an empty directory; with `recursive` also a directory with its contents. */
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

export interface FileEdit {
  readonly find: string;
  readonly replace: string;
  /** Default: once. It fails if the text occurs more than once. */
  readonly times?: "once" | "all";
}

export interface GrepOptions {
  /** Search only files whose path matches this pattern. */
  readonly glob?: string;
  readonly ignoreCase?: boolean;
}

export interface GrepMatch {
  readonly path: string;
  /** Starts at 1. */
  readonly line: number;
  readonly text: string;
}
