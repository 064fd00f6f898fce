import { type FileLimits, within } from "./file-limits.ts";
import type { GrepMatch } from "./filesystem.ts";
import { globMatcher } from "./glob.ts";
import type { Ground } from "./ground.ts";
import { shown, type TreePath } from "./tree-path.ts";

const pieceBytes = 65_536;
/** How long others may wait while a large tree is looked through. */
const breathMs = 10;

/** Looks through a tree of any size, a piece at a time: others have their turn meanwhile, and when the call has ended it stops. */
export class Search {
  readonly #ground: Ground;
  readonly #limits: FileLimits;
  #entries = 0;
  #bytes = 0;
  #breath = performance.now();

  constructor(ground: Ground, limits: FileLimits) {
    this.#ground = ground;
    this.#limits = limits;
  }

  /** The files whose path fits, in no order. */
  async *matching(pattern: string): AsyncGenerator<TreePath> {
    const fits = globMatcher(pattern);
    const left: TreePath[] = [[]];
    for (let directory = left.pop(); directory !== undefined; directory = left.pop()) {
      for (const name of this.#ground.names(directory)) {
        await this.#breathe();
        this.#ground.alive();
        this.#entries += 1;
        within(this.#limits, "treeEntries", this.#entries, `what ${shown(pattern)} is looked for in`);
        const path = [...directory, name];
        const kind = this.#ground.look(path)?.kind;
        if (kind === "directory") left.push(path);
        if (kind === "file" && fits(path)) yield path;
      }
    }
  }

  /** The lines of a file that contain a text. A file with a zero byte has none. */
  async *linesWith(path: TreePath, text: string, ignoreCase: boolean): AsyncGenerator<GrepMatch> {
    const folded = (line: string): string => (ignoreCase ? line.toLowerCase() : line);
    const wanted = folded(text);
    let line = 0;
    for await (const found of this.#lines(path)) {
      line += 1;
      if (folded(found).includes(wanted)) yield { path: path.join("/"), line, text: found };
    }
  }

  /** Of a file of any size; no more of it is held than its longest line. */
  async *#lines(path: TreePath): AsyncGenerator<string> {
    const decoder = new TextDecoder();
    const reader = this.#ground.reader(path);
    try {
      let rest = "";
      for (let piece = reader.next(pieceBytes); piece !== null; piece = reader.next(pieceBytes)) {
        this.#ground.alive();
        if (piece.includes(0)) return;
        this.#bytes += piece.length;
        within(this.#limits, "grepBytes", this.#bytes, "what is read to find a text");
        const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
        rest = lines.pop() ?? "";
        within(this.#limits, "fileBytes", rest.length, `a line of ${shown(path.join("/"))}`);
        for (const line of lines) yield line.endsWith("\r") ? line.slice(0, -1) : line;
        await this.#breathe();
      }
      const last = rest + decoder.decode();
      if (last !== "") yield last;
    } finally {
      reader.close();
    }
  }

  async #breathe(): Promise<void> {
    if (performance.now() - this.#breath < breathMs) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#breath = performance.now();
  }
}
