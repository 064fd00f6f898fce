import { assert } from "../../core/assert.ts";
import type { Digest } from "../../core/id.ts";
import type { CaptureFile } from "./capture-file.ts";
import type { LoggedRecord, LogRecord } from "./log-record.ts";

/**
 * begun: nothing can have been changed yet. open: the tool may be at work, or has died at it. closed: it has ended well, and whether
 * that is on record is for the record to say. kept: it is.
 */
export type LogState = "begun" | "open" | "closed" | "kept" | "restoring" | "restored";

const states: Readonly<Partial<Record<LogRecord["type"], LogState>>> = {
  opened: "open",
  was: "open",
  closed: "closed",
  kept: "kept",
  restoring: "restoring",
  restored: "restored",
};

/** What one call must know to be undone, written before it changes anything. */
export class CaptureLog {
  readonly id: string;
  readonly begun: Extract<LogRecord, { type: "begun" }>;
  readonly #file: CaptureFile;
  readonly #records: LoggedRecord[] = [];
  #state: LogState = "begun";
  #bytes = 0;
  #besides = 0;
  /** Something may have been given a second name for it. */
  hasAside = false;

  constructor(id: string, file: CaptureFile, begun: LoggedRecord) {
    assert(begun.record.type === "begun", "a log begins with what it is of");
    this.id = id;
    this.begun = begun.record;
    this.#file = file;
    this.took(begun);
  }

  get records(): readonly LoggedRecord[] {
    return this.#records;
  }

  get state(): LogState {
    return this.#state;
  }

  /** What it takes in the file. */
  get bytes(): number {
    return this.#bytes;
  }

  /** What is kept for it, there and elsewhere. */
  get weight(): number {
    return this.#bytes + this.#besides;
  }

  /** The tree that a raw call began with; null for one that only used its handle. */
  get before(): Digest | null {
    return this.begun.tree;
  }

  /** How the call left everything; null: it has not ended well. */
  get closed(): Extract<LogRecord, { type: "closed" }> | null {
    const closed = this.#records.findLast(({ record }) => record.type === "closed")?.record;
    return closed?.type === "closed" ? closed : null;
  }

  /** How much there was to put back; null: it is not put back. */
  get restored(): number | null {
    const last = this.#records.at(-1)?.record;
    return last?.type === "restored" ? last.changed : null;
  }

  append(record: LogRecord, bytes?: Uint8Array): void {
    this.took(this.#file.append(this.id, record, bytes));
  }

  appendFrom(record: LogRecord, length: number, chunks: Iterable<Uint8Array>): void {
    this.took(this.#file.appendFrom(this.id, record, length, chunks));
  }

  /** One more that is in the file. */
  took(logged: LoggedRecord): void {
    const { record, at } = logged;
    this.#records.push(logged);
    this.#state = states[record.type] ?? this.#state;
    this.#bytes += at.at - at.from + at.bytes;
    if (record.type === "begun" || record.type === "closed") this.#besides += record.added;
    if (record.type === "was" && record.was.kind === "file" && record.was.digest === null)
      this.#besides += record.was.size;
    if (record.type === "aside") this.hasAside = true;
  }

  content({ digest, size }: { readonly digest: Digest; readonly size: number }): Iterable<Uint8Array> {
    return this.#file.content(digest, size);
  }

  sync(): void {
    this.#file.sync();
  }
}
