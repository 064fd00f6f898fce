import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { FaultError, fault } from "../../core/fault.ts";
import type { Digest } from "../../core/id.ts";
import type { Access, Capture } from "../../core/resource.ts";
import { CaptureLog, type LogState } from "./capture-log.ts";
import { type Disk, errorCode } from "./disk.ts";

/** Where the logs of captures stand, the oldest first. */
export class CaptureShelf {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly aside: string;
  /** What is known of logs that nobody has written since. */
  readonly #known = new Map<string, { readonly stamp: string; readonly state: LogState }>();
  #last = 0;

  constructor(disk: Disk, store: string) {
    this.#disk = disk;
    this.#folder = join(store, "captures");
    this.aside = join(store, "aside");
    disk.mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    disk.mkdirSync(this.aside, { recursive: true, mode: 0o700 });
  }

  begin(tag: string, access: Access, tree: Digest | null): CaptureLog {
    const latest = this.ids().at(-1);
    this.#last = Math.max(this.#last, latest === undefined ? 0 : orderOf(latest)) + 1;
    const id = `${String(this.#last).padStart(12, "0")}-${randomBytes(6).toString("hex")}`;
    return CaptureLog.begin(this.#disk, this.#folder, id, { tag, access, tree });
  }

  open(id: string): CaptureLog {
    try {
      if (!/^\d{12}-[0-9a-f]{12}$/.test(id)) throw Object.assign(new Error("no such name"), { code: "ENOENT" });
      return CaptureLog.open(this.#disk, this.#folder, id);
    } catch (error) {
      if (errorCode(error) !== "ENOENT") throw error;
      throw new FaultError(fault("CAPTURE_NOT_FOUND", `the capture ${id} is not kept any more`), { cause: error });
    }
  }

  ids(): readonly string[] {
    return this.#disk.readdirSync(this.#folder).toSorted();
  }

  /** This one and all after it. */
  from(id: string): readonly string[] {
    return this.ids().filter((other) => other >= id);
  }

  /** The first whose call neither ended nor was undone. Files that were given a second name just before a process died lose it. */
  unfinished(): string | null {
    const ids = this.ids();
    this.#clearStrays(new Set(ids));
    return ids.find((id) => this.#stateOf(id) === "open" || this.#stateOf(id) === "restoring") ?? null;
  }

  /** What a call that is undone, or never will be, had moved aside. */
  dropAside(id: string): void {
    for (const name of this.#disk.readdirSync(this.aside)) {
      if (name.startsWith(`${id}.`)) this.#disk.unlinkSync(join(this.aside, name));
    }
  }

  drop({ id }: Pick<Capture, "id">): void {
    this.dropAside(id);
    try {
      this.#disk.unlinkSync(join(this.#folder, id));
    } catch (error) {
      if (errorCode(error) !== "ENOENT") throw error;
    }
    this.#known.delete(id);
  }

  /** Names that no log knows. */
  #clearStrays(ids: ReadonlySet<string>): void {
    for (const name of this.#disk.readdirSync(this.aside)) {
      const id = name.split(".")[0] ?? "";
      if (!ids.has(id) || this.#stateOf(id) === "begun") this.#disk.unlinkSync(join(this.aside, name));
    }
  }

  #stateOf(id: string): LogState {
    const { size, mtimeMs } = this.#disk.lstatSync(join(this.#folder, id));
    const stamp = `${size} ${mtimeMs}`;
    const known = this.#known.get(id);
    if (known?.stamp === stamp) return known.state;
    const log = this.open(id);
    const { state } = log;
    log.close();
    this.#known.set(id, { stamp, state });
    return state;
  }
}

function orderOf(id: string): number {
  return Number(id.slice(0, 12));
}
