import { readFileSync } from "node:fs";
import type { Instant } from "../../core/id.ts";
import { assertNames, assertSound, landInOrder } from "../../core/judge.ts";
import { leaseOf } from "../../core/lease.ts";
import type { Erasure, Store } from "../../core/store.ts";
import type { Clock, Timers } from "../../core/time/clock.ts";
import type { Context } from "./context.ts";
import type { Database } from "./driver.ts";
import { closedFault, groupCommit } from "./group-commit.ts";
import { ALL, eventsOf, journalsAfter } from "./histories.ts";
import { landing } from "./landing.ts";
import { leases } from "./leases.ts";
import { openDatabase } from "./open.ts";
import { asFault, asOpeningFault } from "./sqlite-fault.ts";
import { prepareAll, type Statements, storedRow } from "./statements.ts";
import { watching } from "./watch.ts";
import { workerLock } from "./worker-lock.ts";

export interface SqliteOptions {
  readonly clock?: Clock;
  /** How long a claim holds without being renewed. */
  readonly leaseMs?: number;
  /** What the look-out for other processes' writes waits with. */
  readonly timers?: Timers;
}

/** A store in one file: every process may read it and send commands, one at a time may execute. */
export function sqlite(path: string, options: SqliteOptions = {}): Store {
  const { db, file } = openDatabase(path);
  try {
    return sqliteStore(db, file, options);
  } catch (error) {
    db.close();
    throw asOpeningFault(error, file);
  }
}

export function sqliteStore(db: Database, file: string, options: SqliteOptions = {}): Store {
  const { clock = systemClock, timers = systemTimers } = options;
  const leaseMs = leaseOf(options.leaseMs);
  const statements = prepareAll(db);
  const group = groupCommit(db, file);
  const lock = workerLock(file);
  let isOpen = true;
  const read = <Result>(work: () => Result): Result => {
    if (!isOpen) throw closedFault(file);
    try {
      return work();
    } catch (error) {
      throw asFault(error, file);
    }
  };
  const context = { statements, group, clock, leaseMs, read };
  const { watch, stop } = watching(timers, () => read(() => statements.dataVersion.get()?.data_version));
  return {
    clock,
    leaseMs,
    ...journal(context),
    ...rowReads(context),
    ...blobs(context),
    ...leases(context, bootId()),
    erase: async (what, hashOf) => {
      assertNames(what.tenant, what.run, ...what.blobs);
      const erased = await group.join("hard", () => erase(statements, what, hashOf));
      if (erased === null) return null;
      // The log still holds the old pages until it is copied and cut.
      read(() => db.exec("pragma wal_checkpoint(truncate)"));
      return erased;
    },
    watch,
    lockWorker: async () => {
      // Whoever had a lease was the worker before us and is dead, or we would not have the lock.
      if (lock.take()) await group.join("soft", () => void statements.expireAll.run());
    },
    close: async () => {
      if (!isOpen) return;
      group.close();
      stop();
      isOpen = false;
      lock.free();
      emptyLog(db);
      db.close();
    },
  };
}

/**
 * The driver closes its connection but not its statements, so SQLite itself never notices the last one leaving. Without
 * waiting: what others still read or write stays in the log, which is as good a place, and they empty it after us.
 */
function emptyLog(db: Database): void {
  try {
    db.exec("pragma busy_timeout = 0");
    db.exec("pragma wal_checkpoint(truncate)");
  } catch {
    // A full disk, say. Everything is still in the log, and whoever opens the store next finds it there.
  }
}

function journal({
  statements,
  group,
  read,
}: Context): Pick<Store, "append" | "events" | "journals" | "head" | "positions"> {
  const land = landing(statements);
  return {
    append: async (entries) => {
      entries.forEach(assertSound);
      const flush = entries.some((entry) => entry.flush === "hard") ? "hard" : "soft";
      return group.join(flush, () => landInOrder(entries, land));
    },
    events: async (tenant, run, after, most = ALL) => {
      assertNames(tenant, run);
      return read(() => eventsOf(statements, tenant, run, { after, most }));
    },
    journals: async (tenant, after, most) => {
      assertNames(tenant, after);
      return read(() => journalsAfter(statements, tenant, after, most));
    },
    positions: async (runs) => {
      for (const { tenant, run } of runs) assertNames(tenant, run);
      return read(() => runs.map(({ tenant, run }) => statements.head.get(tenant, run)?.[0] ?? 0));
    },
    head: async (tenant, run) => {
      assertNames(tenant, run);
      const head = read(() => statements.head.get(tenant, run));
      return head === undefined ? null : { position: head[0], hash: head[1] };
    },
  };
}

function rowReads({ statements, read }: Context): Pick<Store, "row" | "list" | "used" | "runs" | "tallies"> {
  return {
    row: async (tenant, table, key) => {
      assertNames(tenant, key);
      return read(() => statements.findRow(tenant, table, key));
    },
    list: async (tenant, query) => {
      const { where, after, limit } = query;
      assertNames(tenant, after ?? "");
      const values = [tenant, ...(where === undefined ? [] : [where.equals]), ...(after === undefined ? [] : [after])];
      return read(() => statements.list(query).all(...values, limit)).map(storedRow);
    },
    used: async (tenant, tally) => {
      assertNames(tenant, tally);
      return read(() => statements.used.get(tenant, tally)?.used ?? 0);
    },
    runs: async (tenant, after, most) => {
      assertNames(tenant, after);
      return read(() => statements.runs.all(tenant, after, most)).map(({ run }) => run);
    },
    tallies: async (tenant, after, most) => {
      assertNames(tenant, after);
      return read(() => statements.tallies.all(tenant, after, most)).map(({ tally, used }) => ({ tally, used }));
    },
  };
}

function blobs({ statements, group, read }: Context): Pick<Store, "putBlob" | "blob"> {
  return {
    putBlob: async (tenant, hash, bytes) => {
      assertNames(tenant, hash);
      await group.join("soft", () => statements.putBlob.run(tenant, hash, bytes));
    },
    blob: async (tenant, hash) => {
      assertNames(tenant, hash);
      return read(() => statements.blob.get(tenant, hash)?.bytes ?? null);
    },
  };
}

function erase(
  statements: Statements,
  { tenant, run, position, keep, blobs }: Erasure,
  hashOf: (body: string) => Uint8Array,
): number | null {
  if ((statements.head.get(tenant, run)?.[0] ?? 0) !== position) return null;
  for (const hash of blobs) statements.dropBlob.run(tenant, hash);
  const kept = new Set(keep);
  let erased = 0;
  for (const event of eventsOf(statements, tenant, run, { after: 0, most: ALL })) {
    if (event.body === null || kept.has(event.position)) continue;
    statements.eraseBody.run(hashOf(event.body), tenant, run, event.position);
    erased += 1;
  }
  return erased;
}

const systemClock: Clock = { now: () => Date.now() as Instant };

const systemTimers: Timers = {
  after: (ms, work) => {
    const timer = setTimeout(work, ms).unref();
    return () => clearTimeout(timer);
  },
};

/** Linux names each start of the machine. Elsewhere a lost marker cannot be told from one that was never written. */
function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "unknown";
  }
}
