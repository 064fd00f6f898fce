import { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { Store } from "../src/core/store.ts";
import type { Clock } from "../src/core/time/clock.ts";
import type { Dump } from "../src/store/memory/tables.ts";
import type { Database, Statement } from "../src/store/sqlite/driver.ts";
import { openDatabase } from "../src/store/sqlite/open.ts";
import { sqliteStore } from "../src/store/sqlite/sqlite-store.ts";
import { dumping } from "./sqlite-dump.ts";

/** Where SQLite fails: a transaction does not begin, one of its writes does not go through, or it is not committed. */
export interface Trouble {
  readonly at: "begin" | "write" | "commit";
  /** So many go well before. */
  readonly after: number;
  /** So many fail then. */
  readonly times: number;
  /** SQLite's own code. */
  readonly code: number;
  /** Some errors end the transaction by themselves. */
  readonly endsIt: boolean;
}

export interface DiskOptions {
  readonly clock: Clock;
  readonly leaseMs: number;
}

/** A SQLite store on a machine where everything can go wrong: its disk fails, its process dies, its power is cut. */
export class FailingDisk {
  readonly #folder: string;
  readonly #options: DiskOptions;
  #files = 0;
  #opened: Opened;

  constructor(folder: string, options: DiskOptions) {
    this.#folder = folder;
    this.#options = options;
    this.#opened = opened(this.#file(), options);
  }

  get store(): Store {
    return this.#opened.store;
  }

  dump(): Dump {
    return this.#opened.dump.now();
  }

  /** From now on, or no more. */
  set trouble(trouble: Trouble | null) {
    this.#opened.troubled.trouble = trouble;
    this.#opened.troubled.met = 0;
  }

  /** The process dies. What it wrote is in the files, synced or not. */
  async kill(): Promise<void> {
    const { file } = this.#opened;
    await this.#moveTo(readFileSync(`${file}-wal`));
  }

  /** The machine dies: of what was not synced, only some of the first bytes reached the disk. */
  async cutPower(share: number): Promise<void> {
    const { file, troubled } = this.#opened;
    const log = readFileSync(`${file}-wal`);
    const synced = Math.min(troubled.synced, log.length);
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

  /** The next process finds the file and its log as the last one left them; the index of the log is made anew. */
  async #moveTo(log: Uint8Array): Promise<void> {
    const file = this.#file();
    copyFileSync(this.#opened.file, file);
    writeFileSync(`${file}-wal`, log);
    await this.close();
    this.#opened = opened(file, this.#options);
  }
}

interface Opened {
  readonly file: string;
  readonly store: Store;
  readonly troubled: Troubled;
  readonly dump: ReturnType<typeof dumping>;
}

function opened(path: string, options: DiskOptions): Opened {
  const { db, file } = openDatabase(path);
  const troubled = new Troubled(db, `${file}-wal`);
  return { file, troubled, store: sqliteStore(troubled, file, options), dump: dumping(file) };
}

/** A connection that fails when it is told to, and knows how much of its log was synced. */
class Troubled implements Database {
  trouble: Trouble | null = null;
  met = 0;
  synced: number;
  readonly #db: Database;
  readonly #log: string;
  #isFull = true;

  constructor(db: Database, log: string) {
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

  prepare(sql: string): Statement {
    const real = this.#db.prepare(sql);
    const kind = kindOf(sql);
    const meeting =
      <Given extends readonly unknown[], Answer>(call: (...given: Given) => Answer) =>
      (...given: Given): Answer => {
        this.#meet(kind);
        const before = statSync(this.#log).size;
        const answer = call(...given);
        const after = kind === "commit" ? statSync(this.#log).size : 0;
        if (after > before && this.#isFull) this.synced = after;
        return answer;
      };
    return {
      run: meeting((...values) => real.run(...values)),
      get: meeting((...values) => real.get(...values)),
      all: (...values) => real.all(...values),
      setReturnArrays: (enabled) => real.setReturnArrays(enabled),
    };
  }

  #meet(kind: Trouble["at"] | null): void {
    if (this.trouble === null || kind !== this.trouble.at) return;
    const { after, times, code, endsIt } = this.trouble;
    this.met += 1;
    if (this.met <= after || this.met > after + times) return;
    if (endsIt && this.#db.isTransaction) this.#db.exec("rollback");
    throw Object.assign(new Error("the disk is in trouble"), { errcode: code });
  }
}

function kindOf(sql: string): Trouble["at"] | null {
  const [word] = sql.trimStart().split(" ", 1);
  if (word === "begin" || word === "commit") return word;
  return word === "insert" || word === "update" || word === "delete" ? "write" : null;
}
