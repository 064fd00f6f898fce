import fs from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";
import type { Database, Statement, Value } from "../src/store/sqlite/driver.ts";

/** Whoever wants to know what the store does to its file. */
export interface Disk {
  /** A statement is about to write, or to end a transaction. */
  writing(): void;
  /** What was written is in the file now; `synced`: and on the disk, with all before it. */
  written(synced: boolean): void;
}

interface Driver {
  readonly DatabaseSync: new (file: string) => Database;
}

/** Puts a disk under every store that this process opens from now on. The package itself is left as it is. */
export function layUnder(disk: Disk): void {
  const load = createRequire(import.meta.url);
  const path = load.resolve("@photostructure/sqlite");
  const driver = load(path) as Driver;
  const module = load.cache[path];
  if (module === undefined) throw new Error("the driver is not where it was loaded from");
  module.exports = { ...driver, DatabaseSync: watched(driver.DatabaseSync, disk) };
}

function watched(DatabaseSync: Driver["DatabaseSync"], disk: Disk): Driver["DatabaseSync"] {
  return class extends DatabaseSync {
    /** The worker's lock is a file of its own, into which nothing is ever written. */
    readonly #kept: boolean;
    #synchronous: Statement<{ readonly synchronous: number }> | null = null;

    constructor(file: string) {
      super(file);
      this.#kept = !file.endsWith("-worker");
    }

    override exec(sql: string): void {
      this.#around(sql, () => super.exec(sql));
    }

    override prepare(sql: string): Statement {
      const statement = super.prepare(sql);
      return {
        run: (...values: readonly Value[]) => this.#around(sql, () => statement.run(...values)),
        get: (...values) => this.#around(sql, () => statement.get(...values)),
        all: (...values) => this.#around(sql, () => statement.all(...values)),
        setReturnArrays: (enabled) => statement.setReturnArrays(enabled),
      };
    }

    #around<Result>(sql: string, work: () => Result): Result {
      if (!this.#kept || !writes.test(sql)) return work();
      disk.writing();
      const result = work();
      if (!this.isTransaction) disk.written(checkpoints.test(sql) || this.#isSynced());
      return result;
    }

    /** As SQLite says, not as the store means it: in WAL mode only `full` syncs the log at every commit. */
    #isSynced(): boolean {
      this.#synchronous ??= super.prepare("pragma synchronous") as Statement<{ readonly synchronous: number }>;
      return (this.#synchronous.get()?.synchronous ?? 0) >= FULL;
    }
  };
}

const FULL = 2;
/** A checkpoint syncs the log before it copies and the file after it. */
const checkpoints = /^pragma wal_checkpoint/i;
const writes = /^\s*(?!select\b|pragma\b)|^pragma (?:wal_checkpoint|journal_mode)/i;

const bootFile = "/proc/sys/kernel/random/boot_id";
let bootedAs: string | null = null;

/** Stores that are opened from now on believe to be on a machine that was started anew. */
export function reboot(boot: string): void {
  if (bootedAs === null) patchBoot();
  bootedAs = boot;
}

function patchBoot(): void {
  const read = fs.readFileSync;
  const patched = (path: fs.PathOrFileDescriptor, ...rest: [never]) =>
    path === bootFile ? bootedAs : read(path, ...rest);
  fs.readFileSync = patched as typeof fs.readFileSync;
  syncBuiltinESMExports();
}
