import { constants } from "node:fs";
import { type FileHandle, open, opendir } from "node:fs/promises";
import { join } from "node:path";
import type { MailSearch, MailSighting } from "./message-id.ts";
import { codeOf } from "./seen.ts";

export interface MaildirOptions {
  /** How many messages are looked at before the search gives up and says unknown. */
  readonly mostFiles?: number;
  /** How much of a message is read to find the end of its headers. */
  readonly mostHeaderBytes?: number;
}

const filesMax = 50_000;
const headerBytesMax = 256 * 1024;

/** What nobody has touched in tmp for this long is never delivered: the rule of the Maildir itself. */
const abandonedMs = 36 * 60 * 60 * 1000;

/** How often a folder is gone through when messages move while it is read: a mail client renames what it shows. */
const passes = 3;

/**
 * Searches a Maildir, or a folder of `.eml` files, for a Message-ID. Only headers are read: a body, an attached message or a
 * reply that quotes the id is not the mail. Links are not followed.
 */
export function maildir(dir: string, options: MaildirOptions = {}): MailSearch {
  const { mostFiles = filesMax, mostHeaderBytes = headerBytesMax } = options;
  return async (messageId, { signal }) => {
    let last: MailSighting = { saw: "unknown", why: `${dir} was not searched` };
    for (let pass = 0; pass < passes; pass += 1) {
      const search = new Search(dir, messageId, { mostFiles, mostHeaderBytes, signal });
      last = await search.run();
      if (last.saw !== "unknown" || !search.moved) return last;
    }
    return last;
  };
}

interface Bounds {
  readonly mostFiles: number;
  readonly mostHeaderBytes: number;
  readonly signal: AbortSignal;
}

/** One walk through a mailbox. */
class Search {
  readonly #dir: string;
  readonly #wanted: string;
  readonly #bounds: Bounds;
  #left: number;
  /** Why "not found" would not mean "not there". */
  #gap: string | null = null;
  moved = false;

  constructor(dir: string, messageId: string, bounds: Bounds) {
    this.#dir = dir;
    this.#wanted = messageId;
    this.#bounds = bounds;
    this.#left = bounds.mostFiles;
  }

  async run(): Promise<MailSighting> {
    // New before cur: a message moves from the one to the other, never back. What is in tmp may still arrive.
    const folders = await this.#folders();
    if (folders === null) return { saw: "unknown", why: `${this.#dir} is not a Maildir and has no .eml files` };
    for (const folder of folders) {
      const found = await this.#searchFolder(folder);
      if (found !== null) return found;
    }
    return this.#gap === null ? { saw: "nothing" } : { saw: "unknown", why: this.#gap };
  }

  /** The folders that hold messages; null if this is no place for mail, which proves nothing. */
  async #folders(): Promise<readonly Folder[] | null> {
    const names = new Set(await this.#list(this.#dir));
    if (names.has("new") && names.has("cur")) {
      const at = (name: string) => join(this.#dir, name);
      return [
        ...(names.has("tmp") ? [{ path: at("tmp"), arriving: true, suffix: "" }] : []),
        { path: at("new"), arriving: false, suffix: "" },
        { path: at("cur"), arriving: false, suffix: "" },
      ];
    }
    const isFlat = [...names].some((name) => name.endsWith(".eml"));
    return isFlat ? [{ path: this.#dir, arriving: false, suffix: ".eml" }] : null;
  }

  async #searchFolder({ path, arriving, suffix }: Folder): Promise<MailSighting | null> {
    // Names of deliveries begin with their time: what is asked about is most likely among the last.
    const names = (await this.#list(path)).filter((name) => name.endsWith(suffix) && !name.startsWith("."));
    for (const name of names.sort().reverse()) {
      this.#bounds.signal.throwIfAborted();
      const where = join(path, name);
      if (this.#left === 0) {
        this.#gap = `${this.#dir} has more than ${this.#bounds.mostFiles} messages; raise mostFiles or clear it`;
        return null;
      }
      this.#left -= 1;
      const found = await this.#look(where, arriving);
      if (found && !arriving) return { saw: "mail", where };
      if (found) this.#gap = `${where} is still being delivered`;
    }
    return null;
  }

  async #list(path: string): Promise<string[]> {
    const names: string[] = [];
    for await (const { name } of await opendir(path)) {
      names.push(name);
      if (names.length <= 2 * this.#bounds.mostFiles) continue;
      this.#gap = `${path} has too many files to look at; raise mostFiles or clear it`;
      break;
    }
    return names;
  }

  /** Whether a message has the id. What leaves that open is noted. */
  async #look(path: string, arriving: boolean): Promise<boolean> {
    try {
      const { ids, end, changedAt } = await headersOf(path, this.#bounds.mostHeaderBytes);
      if (ids.includes(this.#wanted)) return true;
      if (end === "cut") this.#gap ??= `the headers of ${path} do not end within ${this.#bounds.mostHeaderBytes} bytes`;
      const alive = Date.now() - changedAt < abandonedMs;
      if (arriving && end === "file" && alive) this.#gap ??= `${path} is still being written`;
    } catch (error) {
      this.moved ||= codeOf(error) === "ENOENT";
      this.#gap ??= `${path} could not be read (${codeOf(error) || "it is not a file"})`;
    }
    return false;
  }
}

interface Folder {
  readonly path: string;
  /** A message here may or may not arrive. */
  readonly arriving: boolean;
  readonly suffix: string;
}

interface Headers {
  readonly ids: readonly string[];
  /** What ended them: the blank line, the end of the file, or our patience. */
  readonly end: "blank line" | "file" | "cut";
  readonly changedAt: number;
}

async function headersOf(path: string, most: number): Promise<Headers> {
  // Without blocking: a pipe that lies among the messages must not stop the search.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new Error(`${path} is not a file`);
    const { text, end } = await readHead(file, most);
    return { ids: idsIn(text), end, changedAt: stats.mtimeMs };
  } finally {
    await file.close();
  }
}

const chunkBytes = 8 * 1024;
const blankLine = /\r?\n\r?\n/;

/** Up to the blank line that ends the headers, or as much as may be read. */
async function readHead(file: FileHandle, most: number): Promise<Pick<Headers, "end"> & { readonly text: string }> {
  const bytes = Buffer.alloc(chunkBytes);
  let text = "";
  while (text.length < most) {
    const { bytesRead } = await file.read(bytes, 0, Math.min(chunkBytes, most - text.length));
    if (bytesRead === 0) return { text, end: "file" };
    text += bytes.toString("latin1", 0, bytesRead);
    const end = blankLine.exec(text);
    if (end !== null) return { text: text.slice(0, end.index), end: "blank line" };
  }
  return { text, end: "cut" };
}

function idsIn(headers: string): readonly string[] {
  const unfolded = headers.replace(/\r?\n[ \t]+/g, " ");
  return Array.from(unfolded.matchAll(/^message-id:[^<\n]*(<[^<>\s]+>)/gim), ([, id]) => id as string);
}
