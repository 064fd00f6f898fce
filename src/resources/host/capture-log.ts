import { assert } from "../../core/values/assert.ts";
import type { Digest } from "../../core/values/ids.ts";
import type { CaptureRecord, LoggedRecord } from "./capture-record.ts";
import type { UndoDataFile } from "./undo-data-file.ts";

/**
 * begun: nothing has changed yet. open: the tool may be running, or its process died. closed: the call succeeded, but
 * the journal may not record it yet. kept: the journal records the success. restoring, restored: the call is being
 * undone, or is undone.
 */
export type CaptureState = "begun" | "open" | "closed" | "kept" | "restoring" | "restored";

const stateAfter: Readonly<Partial<Record<CaptureRecord["type"], CaptureState>>> = {
  opened: "open",
  was: "open",
  closed: "closed",
  kept: "kept",
  restoring: "restoring",
  restored: "restored",
};

/** The undo data of one call, written before the call changes anything. */
export class CaptureLog {
  readonly id: string;
  readonly begun: Extract<CaptureRecord, { type: "begun" }>;
  readonly #file: UndoDataFile;
  readonly #records: LoggedRecord[] = [];
  #state: CaptureState = "begun";
  #bytes = 0;
  #externalBytes = 0;
  /** True if files may have been moved aside for this call. */
  hasAside = false;

  constructor(id: string, file: UndoDataFile, begun: LoggedRecord) {
    assert(begun.record.type === "begun", "the first record of a log is `begun`");
    this.id = id;
    this.begun = begun.record;
    this.#file = file;
    this.addRecord(begun);
  }

  get records(): readonly LoggedRecord[] {
    return this.#records;
  }

  get state(): CaptureState {
    return this.#state;
  }

  /** The size of its records in the file. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The size of all data stored for it, in the file and elsewhere. */
  get storedBytes(): number {
    return this.#bytes + this.#externalBytes;
  }

  /** The tree before a call with raw access; null for a call that used only its handle. */
  get before(): Digest | null {
    return this.begun.tree;
  }

  /** The state at the end of the call; null if the call did not succeed. */
  get closed(): Extract<CaptureRecord, { type: "closed" }> | null {
    const closed = this.#records.findLast(({ record }) => record.type === "closed")?.record;
    return closed?.type === "closed" ? closed : null;
  }

  /** False if the call certainly left the tree as it was. */
  get hasChanged(): boolean {
    const { before, closed } = this;
    if (closed === null) return true;
    return before === null ? closed.after.length > 0 : closed.tree !== before;
  }

  /** The number of restored paths; null if the call is not restored. */
  get restored(): number | null {
    const last = this.#records.at(-1)?.record;
    return last?.type === "restored" ? last.changed : null;
  }

  append(record: CaptureRecord, bytes?: Uint8Array): void {
    this.addRecord(this.#file.append(this.id, record, bytes));
  }

  appendFrom(record: CaptureRecord, length: number, chunks: Iterable<Uint8Array>): void {
    this.addRecord(this.#file.appendFrom(this.id, record, length, chunks));
  }

  /** Adds a record that the file contains. */
  addRecord(logged: LoggedRecord): void {
    const { record, at } = logged;
    this.#records.push(logged);
    this.#state = stateAfter[record.type] ?? this.#state;
    this.#bytes += at.at - at.from + at.bytes;
    if (record.type === "begun" || record.type === "closed") this.#externalBytes += record.added;
    if (record.type === "was" && record.was.kind === "file" && record.was.digest === null)
      this.#externalBytes += record.was.size;
    if (record.type === "aside") this.hasAside = true;
  }

  content({ digest, size }: { readonly digest: Digest; readonly size: number }): Iterable<Uint8Array> {
    return this.#file.content(digest, size);
  }

  sync(): void {
    this.#file.sync();
  }
}
