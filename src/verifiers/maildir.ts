import { constants } from "node:fs";
import { type FileHandle, open, opendir } from "node:fs/promises";
import { join } from "node:path";
import type { MailSearch, MailSighting } from "./seen-by-message-id.ts";
import { systemErrorCode } from "./verifier-result.ts";

export interface MaildirOptions {
  /** The maximum number of messages to read. If there are more, the result is `unknown`. */
  readonly mostFiles?: number;
  /** The maximum number of bytes to read to find the end of the headers of a message. */
  readonly mostHeaderBytes?: number;
}

const filesMax = 50_000;
const headerBytesMax = 256 * 1024;

/** A file in tmp that is unchanged for this long is never delivered, by the rules of the Maildir format. */
const abandonedMs = 36 * 60 * 60 * 1000;

/** How often the search repeats if messages move while it reads: a mail client renames the messages it shows. */
const maxPasses = 3;

/**
 * Searches a Maildir, or a folder of `.eml` files, for a Message-ID. It reads only headers: a body, an attached message
 * or a reply that quotes the id does not count. It does not follow links.
 */
export function maildir(dir: string, options: MaildirOptions = {}): MailSearch {
  const { mostFiles = filesMax, mostHeaderBytes = headerBytesMax } = options;
  return async (messageId, { signal }) => {
    let last: MailSighting = { saw: "unknown", why: `${dir} was not searched` };
    for (let pass = 0; pass < maxPasses; pass += 1) {
      const search = new MaildirSearch(dir, messageId, { mostFiles, mostHeaderBytes, signal });
      last = await search.run();
      if (last.saw !== "unknown" || !search.moved) return last;
    }
    return last;
  };
}

interface SearchLimits {
  readonly mostFiles: number;
  readonly mostHeaderBytes: number;
  readonly signal: AbortSignal;
}

/** One search of a mailbox. */
class MaildirSearch {
  readonly #dir: string;
  readonly #messageId: string;
  readonly #limits: SearchLimits;
  #remaining: number;
  /** Why the search is incomplete; null if it is complete. */
  #gap: string | null = null;
  moved = false;

  constructor(dir: string, messageId: string, limits: SearchLimits) {
    this.#dir = dir;
    this.#messageId = messageId;
    this.#limits = limits;
    this.#remaining = limits.mostFiles;
  }

  async run(): Promise<MailSighting> {
    // New before cur: a message moves from new to cur, never back. A message in tmp may still be delivered.
    const folders = await this.#folders();
    if (folders === null) return { saw: "unknown", why: `${this.#dir} is not a Maildir and has no .eml files` };
    for (const folder of folders) {
      const found = await this.#searchFolder(folder);
      if (found !== null) return found;
    }
    return this.#gap === null ? { saw: "nothing" } : { saw: "unknown", why: this.#gap };
  }

  /** Returns the folders with messages, or null if this is not a mailbox, so that the search proves nothing. */
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
    // File names start with the time of delivery, and the mail is maxBytes likely among the latest.
    const names = (await this.#list(path)).filter((name) => name.endsWith(suffix) && !name.startsWith("."));
    for (const name of names.sort().reverse()) {
      this.#limits.signal.throwIfAborted();
      const where = join(path, name);
      if (this.#remaining === 0) {
        this.#gap = `${this.#dir} has more than ${this.#limits.mostFiles} messages; raise mostFiles or clear it`;
        return null;
      }
      this.#remaining -= 1;
      const found = await this.#hasMessageId(where, arriving);
      if (found && !arriving) return { saw: "mail", where };
      if (found) this.#gap = `${where} is still being delivered`;
    }
    return null;
  }

  async #list(path: string): Promise<string[]> {
    const names: string[] = [];
    for await (const { name } of await opendir(path)) {
      names.push(name);
      if (names.length <= 2 * this.#limits.mostFiles) continue;
      this.#gap = `${path} has too many files; raise mostFiles or clear it`;
      break;
    }
    return names;
  }

  /** Returns whether a message has the id. Records a gap if it cannot tell. */
  async #hasMessageId(path: string, arriving: boolean): Promise<boolean> {
    try {
      const { ids, end, changedAt } = await parseHeaders(path, this.#limits.mostHeaderBytes);
      if (ids.includes(this.#messageId)) return true;
      if (end === "cut") this.#gap ??= `the headers of ${path} do not end within ${this.#limits.mostHeaderBytes} bytes`;
      const isRecent = Date.now() - changedAt < abandonedMs;
      if (arriving && end === "file" && isRecent) this.#gap ??= `${path} is still being written`;
    } catch (error) {
      this.moved ||= systemErrorCode(error) === "ENOENT";
      this.#gap ??= `${path} could not be read (${systemErrorCode(error) || "it is not a file"})`;
    }
    return false;
  }
}

interface Folder {
  readonly path: string;
  /** True if the messages in this folder are still being delivered. */
  readonly arriving: boolean;
  readonly suffix: string;
}

interface Headers {
  readonly ids: readonly string[];
  /** How the headers ended: with the blank line, with the file, or at the byte limit. */
  readonly end: "blank line" | "file" | "cut";
  readonly changedAt: number;
}

async function parseHeaders(path: string, maxBytes: number): Promise<Headers> {
  // O_NONBLOCK: a pipe in the folder must not block the search.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new Error(`${path} is not a file`);
    const { text, end } = await readHeaders(file, maxBytes);
    return { ids: findMessageIds(text), end, changedAt: stats.mtimeMs };
  } finally {
    await file.close();
  }
}

const chunkBytes = 8 * 1024;
const blankLine = /\r?\n\r?\n/;

/** Reads up to the blank line that ends the headers, or up to the byte limit. */
async function readHeaders(
  file: FileHandle,
  maxBytes: number,
): Promise<Pick<Headers, "end"> & { readonly text: string }> {
  const bytes = Buffer.alloc(chunkBytes);
  let text = "";
  while (text.length < maxBytes) {
    const { bytesRead } = await file.read(bytes, 0, Math.min(chunkBytes, maxBytes - text.length));
    if (bytesRead === 0) return { text, end: "file" };
    text += bytes.toString("latin1", 0, bytesRead);
    const end = blankLine.exec(text);
    if (end !== null) return { text: text.slice(0, end.index), end: "blank line" };
  }
  return { text, end: "cut" };
}

function findMessageIds(headers: string): readonly string[] {
  const unfolded = headers.replace(/\r?\n[ \t]+/g, " ");
  return Array.from(unfolded.matchAll(/^message-id:[^<\n]*(<[^<>\s]+>)/gim), ([, id]) => id as string);
}
