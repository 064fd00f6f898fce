import { readFileSync, statfsSync } from "node:fs";
import type { Clock, RandomSource, Stopwatch, Timers } from "../../core/ports/clock.ts";
import { appendInOrder, assertStorableNames, assertValidEntry } from "../../core/store/check-entry.ts";
import { leaseLength } from "../../core/store/lease-length.ts";
import type { Store } from "../../core/store/store.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Instant } from "../../core/values/ids.ts";
import { AbandonedLeases } from "./abandoned-leases.ts";
import { createAppendContext, transactionHooks } from "./append-context.ts";
import { createChangePolling } from "./change-polling.ts";
import { DataVersion } from "./data-version.ts";
import { createEntryWriter } from "./entry-writer.ts";
import { eraseMethod } from "./erase-method.ts";
import { NO_LIMIT, readJournals, readRunEvents } from "./event-reads.ts";
import { exitBlockingTimers } from "./exit-blocking-timers.ts";
import { closedFault, groupCommit } from "./group-commit.ts";
import { takeMaintenanceLock } from "./maintenance-lock.ts";
import { IN_MEMORY, openDatabase } from "./open-database.ts";
import { retryOpening } from "./retry-opening.ts";
import type { SqliteContext } from "./sqlite-context.ts";
import type { SqliteDatabase } from "./sqlite-driver.ts";
import { toOpeningFault } from "./sqlite-fault.ts";
import { sqliteLeases } from "./sqlite-leases.ts";
import { sqliteReads } from "./sqlite-reads.ts";
import { sqliteSearches } from "./sqlite-searches.ts";
import { sqliteWaitTimes } from "./sqlite-wait-times.ts";
import { sqliteStatements, toSqliteRow } from "./statements.ts";
import { sqliteCopies } from "./store-copies.ts";
import { truncateLog } from "./truncate-write-ahead-log.ts";
import type { WorkerFailpoints } from "./worker-failpoints.ts";
import { WorkerRegistry } from "./worker-registry.ts";

export interface SqliteOptions {
  readonly clock?: Clock;
  /** How long a lease lasts without being renewed, in milliseconds. */
  readonly leaseMs?: number;
  /** False: a missing, empty or older file is refused with a fault and not changed. The default is true. */
  readonly create?: boolean;
  /** Timers between two polls for writes of other processes. */
  readonly timers?: Timers;
}

/** Ports and settings that only tests change. */
export interface SqliteInternals {
  readonly stopwatch?: Stopwatch;
  readonly dice?: RandomSource;
  /** How long a live worker that writes no beat keeps its runs, in milliseconds. All processes use the same value. */
  readonly stallMs?: number;
  readonly failpoint?: WorkerFailpoints;
  /** Returns the type of the file system of a folder. */
  readonly fileSystemType?: (folder: string) => number;
}

/**
 * Opens a store in one file, or in memory for the path ":memory:". Any number of processes may read, decide and execute.
 * A file that cannot be used rejects the promise, so that `createEngine` rejects.
 */
export function sqlite(path: string, options: SqliteOptions = {}): Promise<Store> {
  const store = retryOpening(() => openSqlite(readPath(path), options), options.timers);
  // The caller receives the rejection when it awaits the promise. Until then it must not end the process as unhandled.
  store.catch(() => {});
  return store;
}

function readPath(path: unknown): string {
  if (typeof path === "string" && path !== "") return path;
  throw new FaultError(fault("STORE_UNUSABLE", 'sqlite needs the path of a file, such as sqlite("writ.db")'));
}

/** Opens a store like `sqlite`, without waiting for another process that creates, migrates or recovers the file. */
export function openSqlite(path: string, options: SqliteOptions & SqliteInternals = {}): Store {
  const { db, file } = openDatabase(path, options.create);
  try {
    return sqliteStore(db, file, options);
  } catch (error) {
    db.close();
    throw toOpeningFault(error, file);
  }
}

export function sqliteStore(db: SqliteDatabase, file: string, options: SqliteOptions & SqliteInternals = {}): Store {
  const { clock = systemClock, timers = systemTimers, failpoint = () => {}, fileSystemType = statfsType } = options;
  const { stopwatch = () => performance.now(), dice = Math.random, stallMs = sqliteWaitTimes.stallMs } = options;
  const leaseMs = leaseLength(options.leaseMs);
  const statements = sqliteStatements(db);
  const version = new DataVersion(() => reads.readNow(() => statements.dataVersion.get()?.data_version));
  // A process that waits for a write or a read does not end before it.
  const waits = { timers: options.timers ?? exitBlockingTimers, stopwatch, dice };
  const parts = createAppendContext(statements, version);
  const group = groupCommit(db, file, { ...waits, ...transactionHooks(parts, version) });
  const reads = sqliteReads(file, waits);
  const boot = bootId();
  let isOpen = true;
  const workers = new WorkerRegistry(
    { statements, group, read: reads.read },
    { file, boot, timers, stopwatch, stallMs, failpoint, fileSystemType },
  );
  const unrenewed = new AbandonedLeases(leaseMs, stopwatch);
  const context = { ...parts, group, clock, ...reads, workers, unrenewed };
  const { watch, stop } = createChangePolling(timers, () => version.observe());
  return {
    clock,
    leaseMs,
    ...journalMethods(context),
    ...rowMethods(context),
    ...sqliteSearches(context),
    ...blobMethods(context),
    ...sqliteLeases(context, boot),
    erase: eraseMethod(context),
    // The write-ahead log holds the old pages until a checkpoint truncates it.
    truncateLog: async () => reads.readNow(() => truncateLog(db)),
    beginMaintenance: async () => {
      if (!isOpen) throw closedFault(file);
      return file === IN_MEMORY ? () => {} : takeMaintenanceLock(file);
    },
    watch,
    changes: () => version.get(),
    copies: sqliteCopies(db, file, (copy) => openSqlite(copy, { clock, timers, create: false })),
    registerWorker: async (worker, terms = {}) => {
      assertStorableNames(worker);
      if (!isOpen) throw closedFault(file);
      await workers.register(worker, terms);
    },
    workers: async () => workers.list(),
    close: async () => {
      if (!isOpen) return;
      stop();
      await workers.unregisterAll();
      await group.close();
      isOpen = false;
      reads.close();
      copyLog(db);
      db.close();
    },
  };
}

/**
 * Copies the write-ahead log into the file. SQLite does not do it on close, because the driver closes the connection
 * but not its statements. Does not wait: pages that other processes still use stay in the log. The log keeps its
 * length, because growing it again takes longer than overwriting it.
 */
function copyLog(db: SqliteDatabase): void {
  try {
    db.exec("pragma wal_checkpoint(passive)");
  } catch {
    // For example, the disk is full. Everything is still in the log, and the next process that opens the store reads
    // it.
  }
}

function journalMethods(context: SqliteContext): Pick<Store, "append" | "events" | "journals" | "head"> {
  const { statements, group, read } = context;
  const writeEntry = createEntryWriter(context);
  return {
    // Not an async function: the promise of the transaction would pass through a second one.
    append: (entries) => {
      try {
        entries.forEach(assertValidEntry);
      } catch (error) {
        return Promise.reject(error);
      }
      const flush = entries.some((entry) => entry.flush === "hard") ? "hard" : "soft";
      return group.join(flush, (checksFirst) => appendInOrder(entries, (entry) => writeEntry(entry, checksFirst)));
    },
    events: async (tenant, run, after, most = NO_LIMIT) => {
      assertStorableNames(tenant, run);
      return read(() => readRunEvents(statements, tenant, run, { after, most }));
    },
    journals: async (tenant, after, most) => {
      assertStorableNames(tenant, after);
      return read(() => readJournals(statements, tenant, after, most));
    },
    head: async (tenant, run) => {
      assertStorableNames(tenant, run);
      const head = await read(() => statements.head.get(tenant, run));
      return head === undefined ? null : { position: head[0], hash: head[1] };
    },
  };
}

function rowMethods({ statements, read }: SqliteContext): Pick<Store, "row" | "list" | "used" | "runs" | "tallies"> {
  return {
    row: async (tenant, table, key) => {
      assertStorableNames(tenant, key);
      return read(() => statements.findRow(tenant, table, key));
    },
    list: async (tenant, query) => {
      const { where, after, limit } = query;
      assertStorableNames(tenant, after ?? "");
      const values = [tenant, ...(where === undefined ? [] : [where.equals]), ...(after === undefined ? [] : [after])];
      return read(() =>
        statements
          .list(query)
          .all(...values, limit)
          .map(toSqliteRow),
      );
    },
    used: async (tenant, tally) => {
      assertStorableNames(tenant, tally);
      return read(() => statements.used.get(tenant, tally)?.used ?? 0);
    },
    runs: async (tenant, after, most) => {
      assertStorableNames(tenant, after);
      return read(() => statements.runs.all(tenant, after, most).map(({ run }) => run));
    },
    tallies: async (tenant, after, most) => {
      assertStorableNames(tenant, after);
      return read(() => statements.tallies.all(tenant, after, most).map(({ tally, used }) => ({ tally, used })));
    },
  };
}

function blobMethods({ statements, group, read }: SqliteContext): Pick<Store, "putBlob" | "blob"> {
  return {
    putBlob: async (tenant, hash, bytes) => {
      assertStorableNames(tenant, hash);
      await group.join("soft", () => statements.putBlob.run(tenant, hash, bytes));
    },
    blob: async (tenant, hash) => {
      assertStorableNames(tenant, hash);
      return read(() => statements.blob.get(tenant, hash)?.bytes ?? null);
    },
  };
}

const statfsType = (folder: string): number => statfsSync(folder).type;

const systemClock: Clock = { now: () => Date.now() as Instant };

/** Timers that do not keep the process from ending. */
const systemTimers: Timers = {
  after: (ms, work) => {
    const timer = setTimeout(work, ms).unref();
    return () => clearTimeout(timer);
  },
};

/**
 * Returns the id that Linux gives to each boot. On other systems a lost marker looks like one that was never written.
 */
function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "unknown";
  }
}
