import fs from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";
import type { SqliteDatabase, SqliteStatement, SqliteValue } from "../src/store/sqlite/sqlite-driver.ts";

/** Receives the writes of a store to its file. */
export interface DiskObserver {
  /** Is called before a statement that writes or ends a transaction. */
  writing(): void;
  /** Is called after a write; `synced`: it and everything before it is on the disk. */
  written(synced: boolean): void;
}

interface SqliteDriver {
  readonly DatabaseSync: new (file: string) => SqliteDatabase;
}

/** Observes every store that this process opens from now on. The package is not changed. */
export function observeDisk(disk: DiskObserver): void {
  const load = createRequire(import.meta.url);
  const path = load.resolve("@photostructure/sqlite");
  const driver = load(path) as SqliteDriver;
  const module = load.cache[path];
  if (module === undefined) throw new Error("the driver is not in the module cache");
  module.exports = { ...driver, DatabaseSync: observedDatabase(driver.DatabaseSync, disk) };
  const builtin = process.getBuiltinModule("node:sqlite") as unknown as SqliteDriver | undefined;
  if (builtin !== undefined) Object.assign(builtin, { DatabaseSync: observedDatabase(builtin.DatabaseSync, disk) });
}

function observedDatabase(
  DatabaseSync: SqliteDriver["DatabaseSync"],
  disk: DiskObserver,
): SqliteDriver["DatabaseSync"] {
  return class extends DatabaseSync {
    /** False for the lock files, which are never written. */
    readonly #isStore: boolean;
    #synchronous: SqliteStatement<{ readonly synchronous: number }> | null = null;

    constructor(file: string) {
      super(file);
      this.#isStore = !lockFileUrl.test(file);
    }

    override exec(sql: string): void {
      this.#around(sql, () => super.exec(sql));
    }

    override prepare(sql: string): SqliteStatement {
      const statement = super.prepare(sql);
      return {
        run: (...values: readonly SqliteValue[]) => this.#around(sql, () => statement.run(...values)),
        get: (...values) => this.#around(sql, () => statement.get(...values)),
        all: (...values) => this.#around(sql, () => statement.all(...values)),
        setReturnArrays: (enabled) => statement.setReturnArrays(enabled),
      };
    }

    #around<Result>(sql: string, work: () => Result): Result {
      if (!this.#isStore || !writeStatement.test(sql)) return work();
      disk.writing();
      const result = work();
      if (!this.isTransaction) disk.written(checkpointStatement.test(sql) || this.#isSynced());
      return result;
    }

    /** Asks SQLite, not the store: in WAL mode only `full` syncs the log at every commit. */
    #isSynced(): boolean {
      this.#synchronous ??= super.prepare("pragma synchronous") as SqliteStatement<{ readonly synchronous: number }>;
      return (this.#synchronous.get()?.synchronous ?? 0) >= FULL;
    }
  };
}

/** The version lock, and the lock files of workers. */
const lockFileUrl = /(-worker|\.lock)(\?|$)/;
const FULL = 2;
/** A checkpoint syncs the log before it copies and the file after it. */
const checkpointStatement = /^pragma wal_checkpoint/i;
const writeStatement = /^\s*(?!select\b|pragma\b)|^pragma (?:wal_checkpoint|journal_mode)/i;

const bootFile = "/proc/sys/kernel/random/boot_id";
let bootId: string | null = null;

/** Sets the boot id that stores opened from now on read. */
export function setBootId(boot: string): void {
  if (bootId === null) patchBootFile();
  bootId = boot;
}

function patchBootFile(): void {
  const read = fs.readFileSync;
  const patched = (path: fs.PathOrFileDescriptor, ...rest: [never]) =>
    path === bootFile ? bootId : read(path, ...rest);
  fs.readFileSync = patched as typeof fs.readFileSync;
  syncBuiltinESMExports();
}
