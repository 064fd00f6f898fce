import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { FaultError, fault } from "../../core/fault.ts";
import type { FileLimits } from "../file-limits.ts";
import { CaptureFile, type Entry } from "./capture-file.ts";
import { CaptureLog } from "./capture-log.ts";
import type { Disk } from "./disk.ts";

/** So much may be in the file that nobody asks for any more, and as much again as is asked for. */
const wasteBytes = 4_194_304;

/** The captures of a tree, the oldest first. For whoever has the right to the tree. */
export class CaptureShelf {
  readonly #disk: Disk;
  readonly #file: CaptureFile;
  readonly #limits: FileLimits;
  readonly aside: string;
  readonly #logs = new Map<string, CaptureLog>();
  #last = 0;
  /** What was there to begin with has been read. */
  #isRead = false;
  /** The last point that was let go of to make room. */
  #horizon: string | null = null;

  constructor(disk: Disk, store: string, limits: FileLimits) {
    this.#disk = disk;
    this.#limits = limits;
    this.aside = join(store, "aside");
    disk.mkdirSync(this.aside, { recursive: true, mode: 0o700 });
    this.#file = new CaptureFile(disk, store);
  }

  /** Reads what others have written. */
  refresh(): void {
    const { isAnew, entries } = this.#file.more();
    if (isAnew) this.#logs.clear();
    for (const entry of entries) this.#took(entry);
    if (!isAnew && entries.length === 0 && this.#isRead) return;
    this.#isRead = true;
    this.#clearStrays();
  }

  begin(begun: Omit<CaptureLog["begun"], "type" | "v">): CaptureLog {
    this.#last += 1;
    const id = `${String(this.#last).padStart(12, "0")}-${randomBytes(6).toString("hex")}`;
    // Not on disk before the next record, which is before anything is changed.
    const log = new CaptureLog(id, this.#file, this.#file.append(id, { type: "begun", v: 1, ...begun }));
    this.#logs.set(id, log);
    return log;
  }

  find(id: string): CaptureLog {
    const found = this.#logs.get(id);
    if (found === undefined) throw new FaultError(fault("CAPTURE_NOT_FOUND", `the capture ${id} is not kept any more`));
    return found;
  }

  get logs(): readonly CaptureLog[] {
    return [...this.#logs.values()];
  }

  /** This one and all after it. */
  from(id: string): readonly CaptureLog[] {
    return this.logs.filter((log) => log.id >= id);
  }

  /** The first of which it is not known whether it stands or is undone. */
  unfinished(): CaptureLog | null {
    for (const log of this.#logs.values())
      if (log.state === "open" || log.state === "closed" || log.state === "restoring") return log;
    return null;
  }

  /** Calls that ended, or died, before they could change anything: nobody goes back to them, and nobody waits for them. */
  dropBegun(): void {
    for (const { id, state } of this.logs) if (state === "begun") this.drop(id);
  }

  /** That the call ended well is on record. Of such points there are not more than so many: the oldest go. Answers whether some went. */
  keep(log: CaptureLog): boolean {
    if (log.state === "closed") log.append({ type: "kept" });
    const { kept } = this;
    let weight = 0;
    const last = kept.findLastIndex((each, at) => {
      weight += each.weight;
      return kept.length - at > this.#limits.keptCaptures || weight > this.#limits.keptBytes;
    });
    for (const { id } of kept.slice(0, last + 1)) this.drop(id, "let_go");
    return last >= 0;
  }

  /** What can be gone back to, the oldest first. */
  get kept(): readonly CaptureLog[] {
    return this.logs.filter(({ state }) => state === "kept");
  }

  /** Nothing that could be gone back to was let go of to make room. */
  get isComplete(): boolean {
    return this.#horizon === null;
  }

  drop(id: string, type: "dropped" | "let_go" = "dropped"): void {
    const log = this.#logs.get(id);
    if (log === undefined) return;
    this.dropAside(log);
    this.#took({ id, logged: this.#file.append(id, { type }) });
    this.#tidy();
  }

  /** What a call that is undone, or never will be, had moved aside. */
  dropAside(log: CaptureLog): void {
    if (!log.hasAside) return;
    for (const name of this.#disk.readdirSync(this.aside))
      if (name.startsWith(`${log.id}.`)) this.#disk.unlinkSync(join(this.aside, name));
    log.hasAside = false;
  }

  close(): void {
    this.#file.close();
  }

  /** What nobody asks for any more is not kept for ever. Whoever is at work is not disturbed. */
  #tidy(): void {
    const { logs } = this;
    if (logs.some(({ state }) => state !== "kept" && state !== "restored")) return;
    const used = logs.reduce((sum, { bytes }) => sum + bytes, 0);
    const waste = this.#file.length - used;
    if (waste < wasteBytes || waste < used) return;
    this.#file.rewrite(this.#entries());
    this.refresh();
  }

  *#entries(): Generator<Entry> {
    if (this.#horizon !== null)
      yield { id: this.#horizon, logged: { record: { type: "let_go" }, at: { from: 0, at: 0, bytes: 0 } } };
    for (const { id, records } of this.#logs.values()) for (const logged of records) yield { id, logged };
  }

  #took({ id, logged }: Entry): void {
    const { record } = logged;
    this.#last = Math.max(this.#last, Number(id.slice(0, 12)));
    if (record.type === "let_go") this.#horizon = id;
    if (record.type === "begun") this.#logs.set(id, new CaptureLog(id, this.#file, logged));
    else if (record.type === "dropped" || record.type === "let_go") this.#logs.delete(id);
    else this.#logs.get(id)?.took(logged);
  }

  /** Files that were given a second name just before a process died lose it. */
  #clearStrays(): void {
    this.#file.clearUnfinished();
    for (const name of this.#disk.readdirSync(this.aside)) {
      const log = this.#logs.get(name.split(".")[0] ?? "");
      if (log === undefined || log.state === "begun") this.#disk.unlinkSync(join(this.aside, name));
      else log.hasAside = true;
    }
  }
}
