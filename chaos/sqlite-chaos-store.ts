import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Store } from "../src/core/store/store.ts";
import { connectSqlite } from "../src/store/sqlite/sqlite-driver.ts";
import { openSqlite } from "../src/store/sqlite/sqlite-store.ts";
import { AdjustableClock } from "./adjustable-clock.ts";
import type { ChaosStore, StoredEvent, UndeliveredNotice } from "./chaos-store.ts";
import type { CleanupGuard } from "./cleanup-guard.ts";
import type { InjectedFault } from "./fault-injector.ts";
import { shortHash } from "./record-store.ts";
import type { SmallDisk } from "./small-disk.ts";
import { type StoreTask, WORKER_READY } from "./worker-task.ts";

/** The average time between two faults of a kind. */
export interface SqliteFaultRates {
  readonly jumpMs: number;
  readonly unlinkMs: number;
  readonly readMs: number;
  readonly fullMs: number;
  /** The longest time for which the disk is full. */
  readonly fullForMs: number;
}

export interface SqliteChaosSetting {
  /** The folder of the store. */
  readonly folder: string;
  /** The disk of that folder; null: one that the test cannot fill. */
  readonly disk: SmallDisk | null;
  /** The folder of the test. */
  readonly testFolder: string;
  /** The program that reads without end. */
  readonly reader: string;
  readonly guard: CleanupGuard;
  readonly leaseMs: number;
  readonly stallMs: number;
  readonly rates: SqliteFaultRates;
}

const HOUR_MS = 3_600_000;

/** The offsets of the clock, one after the other. */
const clockOffsets = [HOUR_MS, 0, -HOUR_MS, 0];

/** A SQLite file, its clock, its disk, and a reader that does not leave. */
export class SqliteChaosStore implements ChaosStore {
  readonly task: StoreTask & { readonly kind: "sqlite" };
  readonly evicts = true;
  readonly #setting: SqliteChaosSetting;
  readonly #clock: AdjustableClock;
  #jumps = 0;
  #isFull = false;
  #reader: ChildProcess | null = null;

  constructor(setting: SqliteChaosSetting) {
    const { folder, testFolder, leaseMs, stallMs } = setting;
    this.#setting = setting;
    this.task = { kind: "sqlite", file: join(folder, "writ.db"), leaseMs, stallMs, clock: join(testFolder, "clock") };
    this.#clock = new AdjustableClock(this.task.clock, "set");
  }

  async open(): Promise<Store> {
    return openSqlite(this.task.file, { leaseMs: this.task.leaseMs, clock: this.#clock });
  }

  faults(): Readonly<Record<string, InjectedFault>> {
    const { rates, disk } = this.#setting;
    return {
      clock_jumps: { everyMs: rates.jumpMs, inject: async () => this.#jump() },
      unlinked: { everyMs: rates.unlinkMs, inject: async (rng) => this.#unlink((count) => rng.below(count)) },
      readers: { everyMs: rates.readMs, inject: () => this.#replaceReader() },
      ...(disk !== null && {
        disk_full: { everyMs: rates.fullMs, inject: (rng) => this.#fill(disk, rng.float() * rates.fullForMs) },
      }),
    };
  }

  #jump(): boolean {
    this.#clock.set(clockOffsets[this.#jumps % clockOffsets.length] ?? 0);
    this.#jumps += 1;
    return true;
  }

  /** Deletes the lock file of a worker, as a careless cleanup does. */
  #unlink(below: (count: number) => number): boolean {
    const folder = `${this.task.file}-workers`;
    const locks = existsSync(folder) ? readdirSync(folder) : [];
    const lock = locks.length === 0 ? undefined : locks[below(locks.length)];
    if (lock === undefined) return false;
    rmSync(join(folder, lock), { force: true });
    return true;
  }

  /** Starts a reader, and then ends the one before it, so that the log is never without a reader. */
  async #replaceReader(): Promise<boolean> {
    const before = this.#reader;
    const { guard, reader } = this.#setting;
    const child = guard.keep(spawn(process.execPath, [reader, this.task.file], { stdio: ["pipe", "pipe", "ignore"] }));
    this.#reader = child;
    const isReading = await new Promise<boolean>((resolve) => {
      child.stdout.on("data", (text: Buffer) => resolve(`${text}`.includes(WORKER_READY)));
      child.once("exit", () => resolve(false));
    });
    before?.kill("SIGKILL");
    return isReading;
  }

  async #fill(disk: SmallDisk, ms: number): Promise<boolean> {
    if (this.#isFull) return false;
    this.#isFull = true;
    disk.fill();
    await new Promise((resolve) => setTimeout(resolve, ms));
    disk.free();
    this.#isFull = false;
    return true;
  }

  /** Sets the clock so far ahead that every timer is due, whichever offset it was set under. */
  async calm(): Promise<void> {
    this.#clock.set(2 * HOUR_MS);
  }

  close(): void {
    this.#reader?.kill("SIGKILL");
  }

  async events(): Promise<readonly StoredEvent[]> {
    const sql = `select head.run, type, event.hash, body from event join head using (journal)
      order by head.tenant, head.run, event.position`;
    return this.#rows<StoredEvent & { hash: Uint8Array }>(sql).map((row) => ({ ...row, hash: shortHash(row.hash) }));
  }

  async notices(): Promise<readonly UndeliveredNotice[]> {
    return this.#rows("select key as notice, row ->> 'run_id' as run from notice");
  }

  async heldRuns(): Promise<readonly string[]> {
    const rows = this.#rows<{ readonly run: string }>("select run from lease where worker is not null");
    return rows.map(({ run }) => run);
  }

  async describeRun(run: string): Promise<string> {
    const [stored] = this.#rows<{ readonly state: string }>(stateQuery, run);
    return stored?.state ?? "nothing is stored";
  }

  #rows<Row>(sql: string, ...values: readonly string[]): readonly Row[] {
    const db = connectSqlite(this.task.file);
    try {
      db.exec("pragma busy_timeout = 5000");
      return db.prepare(sql).all(...values) as readonly Row[];
    } finally {
      db.close();
    }
  }
}

const stateQuery = `select json_object(
  'position', (select max(event.position) from event join head using (journal) where head.run = ?1),
  'timer', (select json(row) from timer where key = ?1),
  'lease', (select json_object('worker', worker, 'epoch', epoch, 'prior', prior) from lease where run = ?1),
  'workers', (select json_group_array(json_object('id', id, 'beat', beat, 'rules', rules)) from worker),
  'status', (select row ->> 'status' from run where key = ?1),
  'notices', (select json_group_array(key) from notice where row ->> 'run_id' = ?1),
  'last', (select json_group_array(type || ' ' || coalesce(body ->> 'step_id', '')) from (
             select type, body from event join head using (journal) where head.run = ?1 order by event.seq desc limit 8))) as state`;
