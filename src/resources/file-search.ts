import { assertWithinLimit, type FileLimits } from "./file-limits.ts";
import type { FilesystemBackend } from "./filesystem-backend.ts";
import type { GrepMatch } from "./filesystem-handle.ts";
import { globMatcher } from "./glob-matcher.ts";
import { printablePath, type TreePath } from "./tree-path.ts";

const pieceBytes = 65_536;
/** A search yields to the event loop after this time, so that a large tree does not block other work. */
const yieldAfterMs = 10;

/**
 * Searches a tree without loading it into memory. Stops with a fault when the call that opened the backend has ended.
 */
export class FileSearch {
  readonly #backend: FilesystemBackend;
  readonly #limits: FileLimits;
  #entries = 0;
  #bytes = 0;
  #lastYieldMs = performance.now();

  constructor(backend: FilesystemBackend, limits: FileLimits) {
    this.#backend = backend;
    this.#limits = limits;
  }

  /** Yields the files whose path matches the pattern, in no particular order. */
  async *findPaths(pattern: string): AsyncGenerator<TreePath> {
    const matches = globMatcher(pattern);
    const pending: TreePath[] = [[]];
    for (let directory = pending.pop(); directory !== undefined; directory = pending.pop()) {
      for (const name of this.#backend.list(directory)) {
        await this.#yieldIfDue();
        this.#backend.assertOpen();
        this.#entries += 1;
        assertWithinLimit(
          this.#limits,
          "treeEntries",
          this.#entries,
          `the number of entries searched for ${printablePath(pattern)}`,
        );
        const path = [...directory, name];
        const kind = this.#backend.stat(path)?.kind;
        if (kind === "directory") pending.push(path);
        if (kind === "file" && matches(path)) yield path;
      }
    }
  }

  /** Yields the lines of a file that contain a text. A file with a zero byte counts as binary and yields none. */
  async *findLines(path: TreePath, text: string, ignoreCase: boolean): AsyncGenerator<GrepMatch> {
    const fold = (line: string): string => (ignoreCase ? line.toLowerCase() : line);
    const wanted = fold(text);
    let line = 0;
    for await (const found of this.#lines(path)) {
      line += 1;
      if (fold(found).includes(wanted)) yield { path: path.join("/"), line, text: found };
    }
  }

  /** Yields the lines of a file of any size. Holds at most one line and one piece in memory. */
  async *#lines(path: TreePath): AsyncGenerator<string> {
    const decoder = new TextDecoder();
    const reader = this.#backend.openReader(path);
    try {
      let rest = "";
      for (let piece = reader.next(pieceBytes); piece !== null; piece = reader.next(pieceBytes)) {
        this.#backend.assertOpen();
        if (piece.includes(0)) return;
        this.#bytes += piece.length;
        assertWithinLimit(this.#limits, "grepBytes", this.#bytes, "the number of bytes searched");
        const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
        rest = lines.pop() ?? "";
        assertWithinLimit(
          this.#limits,
          "fileBytes",
          rest.length,
          `the length of a line of ${printablePath(path.join("/"))}`,
        );
        for (const line of lines) yield line.endsWith("\r") ? line.slice(0, -1) : line;
        await this.#yieldIfDue();
      }
      const last = rest + decoder.decode();
      if (last !== "") yield last;
    } finally {
      reader.close();
    }
  }

  async #yieldIfDue(): Promise<void> {
    if (performance.now() - this.#lastYieldMs < yieldAfterMs) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#lastYieldMs = performance.now();
  }
}
