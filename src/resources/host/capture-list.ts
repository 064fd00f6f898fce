import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { FileLimits } from "../file-limits.ts";
import { printablePath } from "../tree-path.ts";
import { CaptureLog } from "./capture-log.ts";
import type { Disk } from "./disk.ts";
import { type CaptureEntry, UndoDataFile } from "./undo-data-file.ts";

/** The file is rewritten when its unused bytes exceed this size and the size of the used bytes. */
const compactAfterBytes = 4_194_304;

/** The captures of a tree, oldest first. The caller holds the lock of the tree. */
export class CaptureList {
  readonly #disk: Disk;
  readonly #store: string;
  readonly #file: UndoDataFile;
  readonly #limits: FileLimits;
  readonly aside: string;
  readonly #logs = new Map<string, CaptureLog>();
  /** Captures of processes that died before the call changed anything, until they are released. */
  readonly #unused = new Set<string>();
  #lastNumber = 0;
  /** True after the first read. */
  #isRead = false;
  /** The last kept capture that was dropped because of a limit. */
  #lastEvictedId: string | null = null;

  constructor(disk: Disk, store: string, limits: FileLimits) {
    this.#disk = disk;
    this.#store = store;
    this.#limits = limits;
    this.aside = join(store, "aside");
    disk.mkdirSync(this.aside, { recursive: true, mode: 0o700 });
    this.#file = new UndoDataFile(disk, store);
  }

  /** Reads what other processes wrote. */
  refresh(): void {
    const { isReplaced, entries } = this.#file.readNew();
    if (isReplaced) {
      this.#logs.clear();
      this.#unused.clear();
    }
    for (const entry of entries) this.#applyEntry(entry);
    if (!isReplaced && entries.length === 0 && this.#isRead) return;
    this.#isRead = true;
    this.#removeStrayFiles();
  }

  begin(begun: Omit<CaptureLog["begun"], "type" | "v">): CaptureLog {
    this.#lastNumber += 1;
    const id = `${String(this.#lastNumber).padStart(12, "0")}-${randomBytes(6).toString("hex")}`;
    const log = new CaptureLog(id, this.#file, this.#file.append(id, { type: "begun", v: 1, ...begun }));
    this.#logs.set(id, log);
    return log;
  }

  find(id: string): CaptureLog {
    const found = this.#logs.get(id);
    if (found !== undefined) return found;
    throw new FaultError(
      fault("CAPTURE_NOT_FOUND", `${printablePath(this.#store)} has no capture ${id}`, { capture: id }),
    );
  }

  get logs(): readonly CaptureLog[] {
    return [...this.#logs.values()];
  }

  /** Returns this capture and all later ones. */
  since(id: string): readonly CaptureLog[] {
    return this.logs.filter((log) => log.id >= id);
  }

  /** Returns the first capture that is neither kept nor restored, or null. */
  findUnfinished(): CaptureLog | null {
    for (const log of this.#logs.values())
      if (log.state === "open" || log.state === "closed" || log.state === "restoring") return log;
    return null;
  }

  /**
   * Drops calls that died before they changed anything. They need no restore, but the journal may ask for one, so their
   * ids stay.
   */
  dropBegun(): void {
    for (const { id, state } of this.logs) if (state === "begun") this.#end(id, "unused");
  }

  /** True if the call died before it changed anything. */
  isUnused(id: string): boolean {
    return this.#unused.has(id);
  }

  /** Marks a call as kept, then drops the oldest kept captures above the limits. Returns true if any was dropped. */
  markKept(log: CaptureLog): boolean {
    if (log.state === "closed") log.append({ type: "kept" });
    const { kept } = this;
    let storedBytes = 0;
    const last = kept.findLastIndex((each, at) => {
      storedBytes += each.storedBytes;
      return kept.length - at > this.#limits.keptCaptures || storedBytes > this.#limits.keptBytes;
    });
    for (const { id } of kept.slice(0, last + 1)) this.#end(id, "let_go");
    return last >= 0;
  }

  /** The captures that can be restored, oldest first. */
  get kept(): readonly CaptureLog[] {
    return this.logs.filter(({ state }) => state === "kept");
  }

  /** The last capture whose call changed the tree, as far as it is known; else the last one that was dropped, or null. */
  get lastChangeId(): string | null {
    return this.kept.findLast(({ hasChanged }) => hasChanged)?.id ?? this.#lastEvictedId;
  }

  /** False after a kept capture was dropped because of a limit. */
  get isComplete(): boolean {
    return this.#lastEvictedId === null;
  }

  drop(id: string): void {
    if (this.#logs.has(id) || this.#unused.has(id)) this.#end(id, "dropped");
  }

  /** Ends a call that failed. Changes that were only watched stay, and their capture is kept. */
  end(id: string): boolean {
    const log = this.#logs.get(id);
    if (log?.begun.access === "watched" && log.state !== "begun") return this.markKept(log);
    this.drop(id);
    return false;
  }

  #end(id: string, type: "dropped" | "unused" | "let_go"): void {
    const log = this.#logs.get(id);
    if (log !== undefined) this.dropAside(log);
    this.#applyEntry({ id, logged: this.#file.append(id, { type }) });
    this.#compactIfWasteful();
  }

  /** Deletes the files that a call moved aside, when they are no longer needed. */
  dropAside(log: CaptureLog): void {
    if (!log.hasAside) return;
    for (const name of this.#disk.readdirSync(this.aside))
      if (name.startsWith(`${log.id}.`)) this.#disk.unlinkSync(join(this.aside, name));
    log.hasAside = false;
  }

  close(): void {
    this.#file.close();
  }

  /** Rewrites the file if more than half of it is unused. Never while a call is open. */
  #compactIfWasteful(): void {
    const { logs } = this;
    if (logs.some(({ state }) => state !== "kept" && state !== "restored")) return;
    const used = logs.reduce((sum, { bytes }) => sum + bytes, 0);
    const waste = this.#file.length - used;
    if (waste < compactAfterBytes || waste < used) return;
    this.#file.rewrite(this.#entries());
    this.refresh();
  }

  *#entries(): Generator<CaptureEntry> {
    if (this.#lastEvictedId !== null)
      yield { id: this.#lastEvictedId, logged: { record: { type: "let_go" }, at: { from: 0, at: 0, bytes: 0 } } };
    for (const id of this.#unused)
      yield { id, logged: { record: { type: "unused" }, at: { from: 0, at: 0, bytes: 0 } } };
    for (const { id, records } of this.#logs.values()) for (const logged of records) yield { id, logged };
  }

  #applyEntry({ id, logged }: CaptureEntry): void {
    const { record } = logged;
    this.#lastNumber = Math.max(this.#lastNumber, Number(id.slice(0, 12)));
    if (record.type === "let_go") this.#lastEvictedId = id;
    if (record.type === "unused") this.#unused.add(id);
    if (record.type === "dropped") this.#unused.delete(id);
    if (record.type === "begun") this.#logs.set(id, new CaptureLog(id, this.#file, logged));
    else if (record.type === "dropped" || record.type === "unused" || record.type === "let_go") this.#logs.delete(id);
    else this.#logs.get(id)?.addRecord(logged);
  }

  /** Removes files moved aside by calls that are dropped or never recorded the move, because their process died. */
  #removeStrayFiles(): void {
    this.#file.removeTemporaryFiles();
    for (const name of this.#disk.readdirSync(this.aside)) {
      const log = this.#logs.get(name.split(".")[0] ?? "");
      if (log === undefined || log.state === "begun") this.#disk.unlinkSync(join(this.aside, name));
      else log.hasAside = true;
    }
  }
}
