import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Claim, LogState, Store } from "../../src/core/store/store.ts";
import type { Instant, WorkerId } from "../../src/core/values/ids.ts";
import { openDatabase } from "../../src/store/sqlite/open-database.ts";
import type { SqliteDatabase } from "../../src/store/sqlite/sqlite-driver.ts";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import type { FileContext } from "./file-context.ts";
import type { FileTerms } from "./file-terms.ts";

/** A process with the real store on the shared file, from its start to its death. */
export class FileProcess {
  readonly number: number;
  readonly worker: WorkerId;
  readonly terms: FileTerms;
  /** The store. The scheduler delivers each call to it, and each answer. */
  readonly store: Store;
  alive = true;
  /** True if the process was asked to stop. */
  stopping = false;
  /** True if the process closes its store: it has no call in flight, and gives up its lock even if nothing can be written. */
  closing = false;
  /** The names of its calls in flight. */
  readonly calls = new Set<string>();
  readonly #sim: FileContext;
  readonly #db: SqliteDatabase;
  readonly #real: Store;

  /** `onClaimed` is called in the step in which the store has claimed runs. */
  constructor(sim: FileContext, number: number, terms: FileTerms, onClaimed: (claims: readonly Claim[]) => void) {
    const { rng, config } = sim;
    this.#sim = sim;
    this.number = number;
    this.worker = `wrk_${number}` as WorkerId;
    this.terms = terms;
    const { db, file } = openDatabase(sim.file);
    this.#db = closedOnce(db);
    this.#real = sqliteStore(this.#db, file, {
      clock: { now: () => sim.wallClock() as Instant },
      leaseMs: config.leaseMs,
      timers: { after: (ms, work) => this.after(ms, work) },
      stopwatch: sim.stopwatch,
      dice: () => rng.float(),
      stallMs: config.stallMs,
      failpoint: () => {
        if (this.#sim.observer.hasFaults && rng.chance(0.02)) this.kill();
      },
    });
    this.store = this.#deliver({
      ...this.#real,
      claimDue: async (...given) => {
        const claims = await this.#real.claimDue(...given);
        onClaimed(claims);
        return claims;
      },
    });
  }

  /** Calls `work` after this time, unless the process is dead. */
  after(ms: number, work: () => void): () => void {
    return this.alive ? this.#sim.scheduler.after(ms, work, this.number) : () => {};
  }

  /** Each call is one step, and its answer another one. A paused process gets no answer, and a dead one never. */
  #deliver(real: Store): Store {
    const { scheduler } = this.#sim;
    const owner = this.number;
    const members = Object.entries(real).map(([name, member]: [string, unknown]) => {
      if (typeof member !== "function") return [name, member] as const;
      const call = (...given: readonly unknown[]) =>
        new Promise((resolve, reject) => {
          const answer = (how: string, settle: () => void) => {
            const execute = () => {
              settle();
              return "answered";
            };
            scheduler.add({ name: `${name} ${how}`, owner, about: "", execute });
          };
          const execute = () => {
            (member(...given) as Promise<unknown>).then(
              (value) => answer("done", () => resolve(value)),
              (error: unknown) => answer("failed", () => reject(error)),
            );
            return "called";
          };
          if (this.alive) scheduler.add({ name, owner, about: String(given[0]), execute });
        });
      return [name, call] as const;
    });
    return Object.fromEntries(members) as unknown as Store;
  }

  /** Kills the process: the operating system closes its connections and ends its locks. */
  kill(): void {
    if (!this.alive) return;
    this.alive = false;
    this.#sim.counts.kills += 1;
    this.#sim.scheduler.removeOwner(this.number);
    this.#db.close();
    // Without a connection nothing is written: this only frees the lock file.
    void this.#real.close().catch(() => {});
  }

  /** Closes the store, and ends the process. */
  async stop(): Promise<void> {
    while (this.calls.size > 0) await new Promise<void>((resolve) => this.after(100, resolve));
    this.closing = true;
    await this.store.close();
    this.alive = false;
    this.#sim.scheduler.removeOwner(this.number);
  }

  /** Empties the log of the file, as a retention does. */
  truncateLog(): Promise<LogState> {
    return this.#real.truncateLog();
  }

  /** Deletes the lock file, as another program could. */
  deleteLock(): void {
    rmSync(join(`${this.#sim.file}-workers`, `${this.worker}.lock`), { force: true });
  }
}

function closedOnce(db: SqliteDatabase): SqliteDatabase {
  let isOpen = true;
  return {
    get isTransaction() {
      return db.isTransaction;
    },
    prepare: (sql) => db.prepare(sql),
    exec: (sql) => db.exec(sql),
    close: () => {
      if (isOpen) db.close();
      isOpen = false;
    },
  };
}
