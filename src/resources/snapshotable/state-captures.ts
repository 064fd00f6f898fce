import { randomUUID } from "node:crypto";
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Access } from "../../core/ports/resource.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Json } from "../../core/values/json.ts";

/** open: the call may run. closed: it succeeded. kept: its success is on record. restored: it is undone. */
type StateCaptureStatus = "open" | "closed" | "kept" | "restored";

/** A captured state, and the state that the call left. */
export interface StateCapture {
  readonly id: string;
  readonly tag: string;
  readonly access: Access;
  readonly status: StateCaptureStatus;
  readonly before: Json;
  /** Null until the call is closed. */
  readonly after: { readonly state: Json } | null;
  /** The number of parts that a restore changed. */
  readonly changed: number;
}

interface UndoDataFile {
  readonly version: 1;
  readonly isComplete: boolean;
  readonly captures: readonly StateCapture[];
}

const EMPTY: UndoDataFile = { version: 1, isComplete: true, captures: [] };

/** The captures of one container of state, oldest first. With a folder, each change is on disk when its method returns. */
export class StateCaptures {
  readonly #path: string | null;
  #file: UndoDataFile = EMPTY;

  constructor(folder: string | null) {
    if (folder !== null) mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#path = folder === null ? null : join(folder, "captures.json");
  }

  /** Reads what another process wrote. */
  refresh(): void {
    if (this.#path === null || !existsSync(this.#path)) return;
    const read = JSON.parse(readFileSync(this.#path, "utf8")) as UndoDataFile;
    if (read.version !== 1)
      throw new FaultError(fault("STORE_NEWER", `${this.#path} was written by a later version of Writ`));
    this.#file = read;
  }

  get all(): readonly StateCapture[] {
    return this.#file.captures;
  }

  /** False after a kept capture was dropped to make room. */
  get isComplete(): boolean {
    return this.#file.isComplete;
  }

  find(id: string): StateCapture | null {
    return this.all.find((capture) => capture.id === id) ?? null;
  }

  begin(begun: Pick<StateCapture, "id" | "tag" | "access" | "before">): void {
    this.#write([...this.all, { ...begun, status: "open", after: null, changed: 0 }]);
  }

  change(id: string, changes: Partial<StateCapture>): void {
    this.#write(this.all.map((capture) => (capture.id === id ? { ...capture, ...changes } : capture)));
  }

  drop(id: string): void {
    if (this.find(id) !== null) this.#write(this.all.filter((capture) => capture.id !== id));
  }

  /** Marks a capture as kept, and drops the oldest kept ones above the limit. */
  keep(id: string, most: number): void {
    const marked = this.all.map((capture) => (capture.id === id ? { ...capture, status: "kept" as const } : capture));
    const kept = marked.filter(({ status }) => status === "kept");
    const dropped = new Set(kept.slice(0, Math.max(0, kept.length - most)).map((capture) => capture.id));
    this.#write(
      marked.filter((capture) => !dropped.has(capture.id)),
      this.isComplete && dropped.size === 0,
    );
  }

  #write(captures: readonly StateCapture[], isComplete = this.isComplete): void {
    const file: UndoDataFile = { version: 1, isComplete, captures };
    if (this.#path !== null) replaceFile(this.#path, JSON.stringify(file));
    this.#file = file;
  }
}

/** Replaces a file as a whole: after a crash it has the old or the new text. */
function replaceFile(path: string, text: string): void {
  const temporary = `${path}.${randomUUID()}`;
  const file = openSync(temporary, "wx", 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
  const folder = openSync(join(path, ".."), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
