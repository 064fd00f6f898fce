import { type FaultCode, FaultError, fault } from "../core/fault.ts";
import { isWellFormed } from "../core/json/well-formed.ts";
import { type FileLimits, within } from "./file-limits.ts";
import type { Edit, FileEntry, FileStat, Filesystem, GrepMatch, GrepOptions, WriteOptions } from "./filesystem.ts";
import type { Ground } from "./ground.ts";
import { Search } from "./search.ts";
import { forbidden, mayWrite, shown, type TreePath, treePath } from "./tree-path.ts";

const chunkBytes = 65_536;

export interface HouseRules {
  readonly limits: FileLimits;
  /** Names that no tool may write. */
  readonly protect: readonly string[];
}

/** The filesystem that a tool is handed: paths, limits and protected names are the same whatever it stands on. */
export function filesystemOver(ground: Ground, rules: HouseRules): Filesystem {
  return new GroundedFilesystem(ground, rules);
}

class GroundedFilesystem implements Filesystem {
  readonly #ground: Ground;
  readonly #rules: HouseRules;

  constructor(ground: Ground, rules: HouseRules) {
    this.#ground = ground;
    this.#rules = rules;
  }

  get root(): string | null {
    return this.#ground.root;
  }

  async stat(path: string): Promise<FileStat | null> {
    return this.#ground.look(this.#path(path));
  }

  async list(path: string): Promise<readonly FileEntry[]> {
    return this.#entries(this.#path(path));
  }

  async glob(pattern: string): Promise<readonly string[]> {
    this.#ground.alive();
    const found: string[] = [];
    for await (const path of new Search(this.#ground, this.#rules.limits).matching(pattern)) {
      found.push(path.join("/"));
      within(this.#rules.limits, "globMatches", found.length, `what ${shown(pattern)} matches`);
    }
    return found.sort();
  }

  async grep(text: string, { glob = "**", ignoreCase = false }: GrepOptions = {}): Promise<readonly GrepMatch[]> {
    if (text === "") throw refused("INVALID_INPUT", "an empty text is in every line; say what to look for");
    this.#ground.alive();
    const search = new Search(this.#ground, this.#rules.limits);
    const matches: GrepMatch[] = [];
    for await (const path of search.matching(glob)) {
      for await (const match of search.linesWith(path, text, ignoreCase)) {
        matches.push(match);
        within(this.#rules.limits, "grepMatches", matches.length, `what ${shown(text)} matches`);
      }
    }
    return matches.sort((left, right) =>
      left.path === right.path ? left.line - right.line : left.path < right.path ? -1 : 1,
    );
  }

  async read(path: string): Promise<Uint8Array> {
    return this.#content(this.#path(path));
  }

  async readText(path: string): Promise<string> {
    return asText(this.#content(this.#path(path)), path);
  }

  async *readStream(path: string): AsyncIterable<Uint8Array> {
    const reader = this.#ground.reader(this.#path(path));
    try {
      for (let chunk = reader.next(chunkBytes); chunk !== null; chunk = reader.next(chunkBytes)) yield chunk;
    } finally {
      reader.close();
    }
  }

  async write(path: string, content: string | Uint8Array, { ifExists = "replace" }: WriteOptions = {}): Promise<void> {
    const place = this.#writable(path);
    if (ifExists === "refuse" && this.#ground.look(place) !== null)
      throw refused("FILE_UNFIT", `${shown(path)} is there already`);
    this.#put(place, bytesOf(content), "replace");
  }

  async append(path: string, content: string | Uint8Array): Promise<void> {
    this.#put(this.#writable(path), bytesOf(content), "append");
  }

  async writeStream(path: string, chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
    const place = this.#writable(path);
    this.#makeDirectories(place.slice(0, -1));
    const writer = this.#ground.writer(place, "replace");
    let written = 0;
    try {
      for await (const chunk of chunks) {
        this.#ground.alive();
        if (!(chunk instanceof Uint8Array)) throw refused("INVALID_INPUT", "what is written piece by piece is bytes");
        written += chunk.length;
        within(this.#rules.limits, "streamBytes", written, `what is written to ${shown(path)}`);
        writer.write(chunk);
      }
    } finally {
      writer.close();
    }
  }

  async edit(path: string, { find, replace, times = "once" }: Edit): Promise<number> {
    const place = this.#writable(path);
    if (typeof find !== "string" || typeof replace !== "string")
      throw refused("INVALID_INPUT", "an edit says which text to find, and what to put there");
    if (find === "") throw refused("INVALID_INPUT", "an empty text is everywhere; say what to replace");
    const parts = asText(this.#content(place), path).split(find);
    const found = parts.length - 1;
    if (found === 0) throw refused("FILE_UNFIT", `${shown(path)} does not contain ${shown(find)}; read it again`);
    if (found > 1 && times === "once")
      throw refused("FILE_UNFIT", `${shown(path)} contains ${shown(find)} ${found} times; say more of it, or \`all\``);
    this.#put(place, bytesOf(parts.join(replace)), "replace");
    return found;
  }

  async mkdir(path: string): Promise<void> {
    this.#makeDirectories(this.#writable(path));
  }

  async delete(path: string, { recursive = false }: { recursive?: boolean } = {}): Promise<void> {
    const place = this.#writable(path);
    const stat = this.#need(place);
    if (stat.kind !== "directory") return this.#ground.remove(place);
    const inside = this.#ground.names(place);
    if (!recursive && inside.length > 0)
      throw refused("FILE_UNFIT", `${shown(path)} is not empty; delete it with \`recursive\``);
    this.#removeDirectory(place);
  }

  #path(path: string): TreePath {
    this.#ground.alive();
    return treePath(path, this.#rules.limits);
  }

  #writable(path: string): TreePath {
    const place = this.#path(path);
    if (place.length === 0) throw refused("FILE_UNFIT", "the root itself is neither written nor deleted");
    mayWrite(place, this.#rules.protect);
    return place;
  }

  #need(path: TreePath): FileStat {
    const stat = this.#ground.look(path);
    if (stat === null) throw refused("FILE_NOT_FOUND", `nothing is at ${shown(path.join("/"))}`);
    return stat;
  }

  #entries(path: TreePath): readonly FileEntry[] {
    mustBeDirectory(path, this.#need(path).kind);
    const names = this.#ground.names(path);
    within(this.#rules.limits, "listEntries", names.length, `what is in ${shown(path.join("/"))}`);
    return names.toSorted().map((name) => ({ name, kind: this.#ground.look([...path, name])?.kind ?? "other" }));
  }

  #content(path: TreePath): Uint8Array {
    within(this.#rules.limits, "fileBytes", this.#need(path).bytes, `the size of ${shown(path.join("/"))}`);
    const reader = this.#ground.reader(path);
    try {
      const chunks: Uint8Array[] = [];
      let length = 0;
      for (let chunk = reader.next(chunkBytes); chunk !== null; chunk = reader.next(chunkBytes)) {
        chunks.push(chunk);
        length += chunk.length;
        // It may have grown since it was looked at.
        within(this.#rules.limits, "fileBytes", length, `the size of ${shown(path.join("/"))}`);
      }
      return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
    } finally {
      reader.close();
    }
  }

  #put(path: TreePath, bytes: Uint8Array, how: "replace" | "append"): void {
    const before = how === "append" ? (this.#ground.look(path)?.bytes ?? 0) : 0;
    within(this.#rules.limits, "fileBytes", before + bytes.length, `the size of ${shown(path.join("/"))}`);
    this.#makeDirectories(path.slice(0, -1));
    const writer = this.#ground.writer(path, how);
    try {
      writer.write(bytes);
    } finally {
      writer.close();
    }
  }

  #makeDirectories(path: TreePath): void {
    if (path.length === 0 || this.#ground.look(path)?.kind === "directory") return;
    for (let depth = 1; depth <= path.length; depth += 1) {
      const place = path.slice(0, depth);
      const kind = this.#ground.look(place)?.kind;
      if (kind === undefined) this.#ground.makeDirectory(place);
      else mustBeDirectory(place, kind);
    }
  }

  #removeDirectory(path: TreePath): void {
    for (const name of this.#ground.names(path)) {
      const place = [...path, name];
      mayWrite(place, this.#rules.protect);
      if (this.#need(place).kind === "directory") this.#removeDirectory(place);
      else this.#ground.remove(place);
    }
    this.#ground.remove(path);
  }
}

function mustBeDirectory(path: TreePath, kind: FileStat["kind"]): void {
  if (kind === "link") throw forbidden(path.join("/"), "it is a link, and links are not followed");
  if (kind !== "directory") throw refused("FILE_UNFIT", `${shown(path.join("/"))} is no directory`);
}

function asText(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw refused("FILE_UNFIT", `${shown(path)} is not UTF-8 text; read its bytes`);
  }
}

function bytesOf(content: string | Uint8Array): Uint8Array {
  if (content instanceof Uint8Array) return content;
  if (typeof content !== "string") throw refused("INVALID_INPUT", "what is written is text or bytes");
  if (!isWellFormed(content)) throw refused("INVALID_INPUT", "half a character is no text; write whole ones, or bytes");
  return Buffer.from(content);
}

function refused(code: FaultCode, message: string): FaultError {
  return new FaultError(fault(code, message));
}
