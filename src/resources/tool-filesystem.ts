import { isWellFormed } from "../core/json/well-formed-text.ts";
import { type FaultCode, FaultError, fault } from "../core/values/fault.ts";
import { assertWithinLimit, type FileLimits } from "./file-limits.ts";
import { FileSearch } from "./file-search.ts";
import type { FilesystemBackend } from "./filesystem-backend.ts";
import type {
  FileEdit,
  FileEntry,
  FileStat,
  Filesystem,
  GrepMatch,
  GrepOptions,
  WriteOptions,
} from "./filesystem-handle.ts";
import { assertWritable, forbiddenPathFault, printablePath, type TreePath, treePath } from "./tree-path.ts";

const chunkBytes = 65_536;

export interface FilesystemRules {
  readonly limits: FileLimits;
  /** Names that tools may not write. */
  readonly protect: readonly string[];
}

/** Creates the filesystem that a tool gets. It checks paths, limits and protected names for every backend. */
export function createToolFilesystem(backend: FilesystemBackend, rules: FilesystemRules): Filesystem {
  return new ToolFilesystem(backend, rules);
}

class ToolFilesystem implements Filesystem {
  readonly #backend: FilesystemBackend;
  readonly #rules: FilesystemRules;

  constructor(backend: FilesystemBackend, rules: FilesystemRules) {
    this.#backend = backend;
    this.#rules = rules;
  }

  get root(): string | null {
    return this.#backend.root;
  }

  async stat(path: string): Promise<FileStat | null> {
    return this.#backend.stat(this.#parsePath(path));
  }

  async list(path: string): Promise<readonly FileEntry[]> {
    return this.#listEntries(this.#parsePath(path));
  }

  async glob(pattern: string): Promise<readonly string[]> {
    this.#backend.assertOpen();
    const found: string[] = [];
    for await (const path of new FileSearch(this.#backend, this.#rules.limits).findPaths(pattern)) {
      found.push(path.join("/"));
      assertWithinLimit(
        this.#rules.limits,
        "globMatches",
        found.length,
        `the number of paths that match ${printablePath(pattern)}`,
      );
    }
    return found.sort();
  }

  async grep(text: string, { glob = "**", ignoreCase = false }: GrepOptions = {}): Promise<readonly GrepMatch[]> {
    if (text === "") throw fileFault("INVALID_INPUT", "the text to search for is empty");
    this.#backend.assertOpen();
    const search = new FileSearch(this.#backend, this.#rules.limits);
    const matches: GrepMatch[] = [];
    for await (const path of search.findPaths(glob)) {
      for await (const match of search.findLines(path, text, ignoreCase)) {
        matches.push(match);
        assertWithinLimit(
          this.#rules.limits,
          "grepMatches",
          matches.length,
          `the number of lines that contain ${printablePath(text)}`,
        );
      }
    }
    return matches.sort((left, right) =>
      left.path === right.path ? left.line - right.line : left.path < right.path ? -1 : 1,
    );
  }

  async read(path: string): Promise<Uint8Array> {
    return this.#readContent(this.#parsePath(path));
  }

  async readText(path: string): Promise<string> {
    return decodeText(this.#readContent(this.#parsePath(path)), path);
  }

  async *readStream(path: string): AsyncIterable<Uint8Array> {
    const reader = this.#backend.openReader(this.#parsePath(path));
    try {
      for (let chunk = reader.next(chunkBytes); chunk !== null; chunk = reader.next(chunkBytes)) yield chunk;
    } finally {
      reader.close();
    }
  }

  async write(path: string, content: string | Uint8Array, { ifExists = "replace" }: WriteOptions = {}): Promise<void> {
    const place = this.#writablePath(path);
    if (ifExists === "refuse" && this.#backend.stat(place) !== null)
      throw fileFault("FILE_UNFIT", `${printablePath(path)} already exists`);
    this.#writeContent(place, toBytes(content), "replace");
  }

  async append(path: string, content: string | Uint8Array): Promise<void> {
    this.#writeContent(this.#writablePath(path), toBytes(content), "append");
  }

  async writeStream(path: string, chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
    const place = this.#writablePath(path);
    this.#makeDirectories(place.slice(0, -1));
    const writer = this.#backend.openWriter(place, "replace");
    let written = 0;
    try {
      for await (const chunk of chunks) {
        this.#backend.assertOpen();
        if (!(chunk instanceof Uint8Array)) throw fileFault("INVALID_INPUT", "a stream must yield Uint8Array chunks");
        written += chunk.length;
        assertWithinLimit(
          this.#rules.limits,
          "streamBytes",
          written,
          `the number of bytes written to ${printablePath(path)}`,
        );
        writer.write(chunk);
      }
    } finally {
      writer.close();
    }
  }

  async edit(path: string, { find, replace, times = "once" }: FileEdit): Promise<number> {
    const place = this.#writablePath(path);
    if (typeof find !== "string" || typeof replace !== "string")
      throw fileFault("INVALID_INPUT", "an edit must have the strings `find` and `replace`");
    if (find === "") throw fileFault("INVALID_INPUT", "the text to replace is empty");
    const parts = decodeText(this.#readContent(place), path).split(find);
    const found = parts.length - 1;
    if (found === 0)
      throw fileFault("FILE_UNFIT", `${printablePath(path)} does not contain ${printablePath(find)}; read it again`);
    if (found > 1 && times === "once")
      throw fileFault(
        "FILE_UNFIT",
        `${printablePath(path)} contains ${printablePath(find)} ${found} times; give a longer text, or set \`times\` to "all"`,
      );
    this.#writeContent(place, toBytes(parts.join(replace)), "replace");
    return found;
  }

  async mkdir(path: string): Promise<void> {
    this.#makeDirectories(this.#writablePath(path));
  }

  async delete(path: string, { recursive = false }: { recursive?: boolean } = {}): Promise<void> {
    const place = this.#writablePath(path);
    const stat = this.#statOrThrow(place);
    if (stat.kind !== "directory") return this.#backend.remove(place);
    const inside = this.#backend.list(place);
    if (!recursive && inside.length > 0)
      throw fileFault("FILE_UNFIT", `${printablePath(path)} is not empty; delete it with \`recursive\``);
    this.#removeDirectory(place);
  }

  #parsePath(path: string): TreePath {
    this.#backend.assertOpen();
    return treePath(path, this.#rules.limits);
  }

  #writablePath(path: string): TreePath {
    const place = this.#parsePath(path);
    if (place.length === 0) throw fileFault("FILE_UNFIT", "the root cannot be written or deleted");
    assertWritable(place, this.#rules.protect);
    return place;
  }

  #statOrThrow(path: TreePath): FileStat {
    const stat = this.#backend.stat(path);
    if (stat === null) throw fileFault("FILE_NOT_FOUND", `${printablePath(path.join("/"))} does not exist`);
    return stat;
  }

  #listEntries(path: TreePath): readonly FileEntry[] {
    assertDirectory(path, this.#statOrThrow(path).kind);
    const names = this.#backend.list(path);
    assertWithinLimit(
      this.#rules.limits,
      "listEntries",
      names.length,
      `the number of entries in ${printablePath(path.join("/"))}`,
    );
    return names.toSorted().map((name) => ({ name, kind: this.#backend.stat([...path, name])?.kind ?? "other" }));
  }

  #readContent(path: TreePath): Uint8Array {
    assertWithinLimit(
      this.#rules.limits,
      "fileBytes",
      this.#statOrThrow(path).bytes,
      `the size of ${printablePath(path.join("/"))}`,
    );
    const reader = this.#backend.openReader(path);
    try {
      const chunks: Uint8Array[] = [];
      let length = 0;
      for (let chunk = reader.next(chunkBytes); chunk !== null; chunk = reader.next(chunkBytes)) {
        chunks.push(chunk);
        length += chunk.length;
        // The file may have grown since `stat`.
        assertWithinLimit(this.#rules.limits, "fileBytes", length, `the size of ${printablePath(path.join("/"))}`);
      }
      return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
    } finally {
      reader.close();
    }
  }

  #writeContent(path: TreePath, bytes: Uint8Array, how: "replace" | "append"): void {
    const before = how === "append" ? (this.#backend.stat(path)?.bytes ?? 0) : 0;
    assertWithinLimit(
      this.#rules.limits,
      "fileBytes",
      before + bytes.length,
      `the size of ${printablePath(path.join("/"))}`,
    );
    this.#makeDirectories(path.slice(0, -1));
    const writer = this.#backend.openWriter(path, how);
    try {
      writer.write(bytes);
    } finally {
      writer.close();
    }
  }

  #makeDirectories(path: TreePath): void {
    if (path.length === 0 || this.#backend.stat(path)?.kind === "directory") return;
    for (let depth = 1; depth <= path.length; depth += 1) {
      const place = path.slice(0, depth);
      const kind = this.#backend.stat(place)?.kind;
      if (kind === undefined) this.#backend.makeDirectory(place);
      else assertDirectory(place, kind);
    }
  }

  #removeDirectory(path: TreePath): void {
    for (const name of this.#backend.list(path)) {
      const place = [...path, name];
      assertWritable(place, this.#rules.protect);
      if (this.#statOrThrow(place).kind === "directory") this.#removeDirectory(place);
      else this.#backend.remove(place);
    }
    this.#backend.remove(path);
  }
}

function assertDirectory(path: TreePath, kind: FileStat["kind"]): void {
  if (kind === "link") throw forbiddenPathFault(path.join("/"), "it is a link, and links are not followed");
  if (kind !== "directory") throw fileFault("FILE_UNFIT", `${printablePath(path.join("/"))} is not a directory`);
}

function decodeText(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw fileFault("FILE_UNFIT", `${printablePath(path)} is not UTF-8 text; read its bytes`);
  }
}

function toBytes(content: string | Uint8Array): Uint8Array {
  if (content instanceof Uint8Array) return content;
  if (typeof content !== "string") throw fileFault("INVALID_INPUT", "the content must be a string or a Uint8Array");
  if (!isWellFormed(content))
    throw fileFault("INVALID_INPUT", "the text contains half of a surrogate pair; write well-formed text, or bytes");
  return Buffer.from(content);
}

function fileFault(code: FaultCode, message: string): FaultError {
  return new FaultError(fault(code, message));
}
