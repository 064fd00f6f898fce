import { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { Clock, Stopwatch, Timers } from "../../../src/core/ports/clock.ts";
import type { Store } from "../../../src/core/store/store.ts";
import type { TableDump } from "../../../src/store/memory/memory-tables.ts";
import { openDatabase } from "../../../src/store/sqlite/open-database.ts";
import type { SqliteDatabase, SqliteStatement } from "../../../src/store/sqlite/sqlite-driver.ts";
import { sqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { openSqliteDump } from "./sqlite-dump.ts";

/** The point at which SQLite fails: the begin, a write or the commit of a transaction. */
export interface SqliteFailure {
  readonly at: "begin" | "write" | "commit";
  /** The number of statements that succeed before. */
  readonly after: number;
  /** The number of statements that fail then. */
  readonly times: number;
  /** The error code of SQLite. */
  readonly code: number;
  /** True if the error rolls the transaction back, as some errors of SQLite do. */
  readonly endsIt: boolean;
}

export interface FailingSqliteOptions {
  readonly clock: Clock;
  readonly leaseMs: number;
}

/** A SQLite store that can be made to fail: its disk fails, its process dies, or its machine loses power. */
export class FailingSqlite {
  readonly #folder: string;
  readonly #options: FailingSqliteOptions;
  #files = 0;
  #opened: OpenedFile;

  constructor(folder: string, options: FailingSqliteOptions) {
    this.#folder = folder;
    this.#options = options;
    this.#opened = openFile(this.#file(), options);
  }

  get store(): Store {
    return this.#opened.store;
  }

  dump(): TableDump {
    return this.#opened.dump.now();
  }

  /** Sets or clears the failure of later statements. */
  set failure(failure: SqliteFailure | null) {
    this.#opened.connection.failure = failure;
    this.#opened.connection.matched = 0;
  }

  /** Simulates the death of the process. The files keep everything that it wrote, synced or not. */
  async kill(): Promise<void> {
    const { file } = this.#opened;
    await this.#moveTo(readFileSync(`${file}-wal`));
  }

  /** Simulates a power cut. Only a share of the unsynced bytes, from the start, reaches the disk. */
  async cutPower(share: number): Promise<void> {
    const { file, connection } = this.#opened;
    const log = readFileSync(`${file}-wal`);
    const synced = Math.min(connection.synced, log.length);
    await this.#moveTo(log.subarray(0, synced + Math.floor(share * (log.length - synced))));
  }

  async close(): Promise<void> {
    this.#opened.dump.close();
    await this.#opened.store.close();
    for (const suffix of ["", "-wal", "-shm"]) rmSync(this.#opened.file + suffix, { force: true });
  }

  #file(): string {
    return `${this.#folder}/${this.#files++}.db`;
  }

  /** Reopens a copy of the file and its log. The index of the log is rebuilt. */
  async #moveTo(log: Uint8Array): Promise<void> {
    const file = this.#file();
    copyFileSync(this.#opened.file, file);
    writeFileSync(`${file}-wal`, log);
    await this.close();
    this.#opened = openFile(file, this.#options);
  }
}

interface OpenedFile {
  readonly file: string;
  readonly store: Store;
  readonly connection: FailingConnection;
  readonly dump: ReturnType<typeof openSqliteDump>;
}

function openFile(path: string, options: FailingSqliteOptions): OpenedFile {
  const { db, file } = openDatabase(path);
  const connection = new FailingConnection(db, `${file}-wal`);
  const store = sqliteStore(connection, file, { ...options, ...hurriedTime() });
  return { file, connection, store, dump: openSqliteDump(file) };
}

/** Timers that fire in the next turn of the event loop, and a stopwatch that counts them as having waited. */
function hurriedTime(): { readonly timers: Timers; readonly stopwatch: Stopwatch } {
  let now = 0;
  const after: Timers["after"] = (ms, work) => {
    const timer = setImmediate(() => {
      now += ms;
      work();
    });
    return () => clearImmediate(timer);
  };
  return { timers: { after }, stopwatch: () => now };
}

/** A connection that fails as configured and tracks the synced length of its log. */
class FailingConnection implements SqliteDatabase {
  failure: SqliteFailure | null = null;
  matched = 0;
  synced: number;
  readonly #db: SqliteDatabase;
  readonly #log: string;
  #isFull = true;

  constructor(db: SqliteDatabase, log: string) {
    this.#db = db;
    this.#log = log;
    this.synced = statSync(log).size;
  }

  get isTransaction(): boolean {
    return this.#db.isTransaction;
  }

  exec(sql: string): void {
    if (sql.startsWith("pragma synchronous")) this.#isFull = sql.includes("full");
    this.#db.exec(sql);
  }

  close(): void {
    this.#db.close();
  }

  prepare(sql: string): SqliteStatement {
    const real = this.#db.prepare(sql);
    const kind = kindOf(sql);
    const wrapped =
      <Args extends readonly unknown[], Answer>(call: (...args: Args) => Answer) =>
      (...args: Args): Answer => {
        this.#failIfDue(kind);
        const before = statSync(this.#log).size;
        const answer = call(...args);
        const after = kind === "commit" ? statSync(this.#log).size : 0;
        if (after > before && this.#isFull) this.synced = after;
        return answer;
      };
    return {
      run: wrapped((...values) => real.run(...values)),
      get: wrapped((...values) => real.get(...values)),
      all: (...values) => real.all(...values),
      setReturnArrays: (enabled) => real.setReturnArrays(enabled),
    };
  }

  #failIfDue(kind: SqliteFailure["at"] | null): void {
    if (this.failure === null || kind !== this.failure.at) return;
    const { after, times, code, endsIt } = this.failure;
    this.matched += 1;
    if (this.matched <= after || this.matched > after + times) return;
    if (endsIt && this.#db.isTransaction) this.#db.exec("rollback");
    throw Object.assign(new Error("the disk failed"), { errcode: code });
  }
}

function kindOf(sql: string): SqliteFailure["at"] | null {
  const [word] = sql.trimStart().split(" ", 1);
  if (word === "begin" || word === "commit") return word;
  return word === "insert" || word === "update" || word === "delete" ? "write" : null;
}
