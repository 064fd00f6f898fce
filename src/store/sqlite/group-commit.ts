import type { RandomSource, Stopwatch, Timers } from "../../core/ports/clock.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { SqliteDatabase } from "./sqlite-driver.ts";
import { SQLITE_BUSY, sqliteCode, toSqliteFault } from "./sqlite-fault.ts";
import { sqliteWaitTimes } from "./sqlite-wait-times.ts";

type Flush = "hard" | "soft";

/**
 * Thrown by work that has written something before it found that it may not. The transaction is undone and repeated with
 * every condition checked before the first write.
 */
export class LateRefusalError extends Error {}

/** The work of one caller inside a transaction. Its promise resolves after the commit. */
interface Operation {
  readonly flush: Flush;
  readonly work: (checksFirst: boolean) => unknown;
  /** The result of the work in the latest transaction that was tried. */
  result: unknown;
  /** When it was first kept back by a transaction of another process. */
  blockedAt: number | null;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

export interface GroupCommitPorts {
  readonly timers: Timers;
  readonly stopwatch: Stopwatch;
  readonly dice: RandomSource;
  /** Runs inside each transaction, before its work. */
  readonly onBegin: () => void;
  /** Runs inside each transaction, after its work. */
  readonly beforeCommit: () => void;
  /** Runs when a transaction was undone. */
  readonly onUndo: () => void;
}

export interface GroupCommit {
  /** False while work waits for a transaction. */
  readonly isIdle: boolean;
  /**
   * Adds `work` to the transaction of this turn of the event loop. Rejects if nothing of it was committed. Work gets true
   * if it has to check all its conditions before its first write.
   */
  join<Result>(flush: Flush, work: (checksFirst: boolean) => Result): Promise<Result>;
  /** Accepts no more work. Resolves when the waiting work is committed or has failed. */
  close(): Promise<void>;
}

/**
 * Commits the work of one turn of the event loop in one transaction and, if any of it is hard, with one sync.
 * `setImmediate` runs after the I/O callbacks of this turn, which groups the outcomes of tools that ended together. A
 * microtask would give each outcome its own sync. If another process is writing, the work waits by a timer, and the
 * event loop goes on.
 */
export function groupCommit(db: SqliteDatabase, file: string, ports: GroupCommitPorts): GroupCommit {
  const { timers, stopwatch, dice } = ports;
  const commit = createTransactionRunner(db, ports);
  let waiting: Operation[] = [];
  let closed = false;
  let onIdle = () => {};

  const flush = (): void => {
    const batch = waiting;
    waiting = [];
    if (batch.length > 0) commitBatch(batch);
    if (waiting.length === 0) onIdle();
  };

  const commitBatch = (batch: readonly Operation[]): void => {
    try {
      commit(batch);
    } catch (error) {
      if (error instanceof BeginFailedError && sqliteCode(error.cause) === SQLITE_BUSY) keepBack(batch, error.cause);
      else retryAlone(batch, error);
    }
  };

  /** Keeps the operations for the next attempt, except those that have waited too long. */
  const keepBack = (batch: readonly Operation[], busy: unknown): void => {
    const now = stopwatch();
    const waitedMs = now - (batch[0]?.blockedAt ?? now);
    for (const op of batch) {
      op.blockedAt ??= now;
      if (now - op.blockedAt < sqliteWaitTimes.busyMs) waiting.push(op);
      else op.reject(toSqliteFault(busy, file));
    }
    if (waiting.length > 0) timers.after(1 + dice() * (longestPause(waitedMs) - 1), flush);
  };

  /** Commits each operation by itself, because one of them may have caused the error. */
  const retryAlone = (batch: readonly Operation[], error: unknown): void => {
    if (batch.length === 1 || error instanceof BeginFailedError) rejectAll(batch, error, file);
    // If one of them is kept back, the later ones wait behind it.
    else for (const op of batch) waiting.length > 0 ? waiting.push(op) : commitBatch([op]);
  };

  return {
    get isIdle() {
      return waiting.length === 0;
    },
    join: <Result>(flushing: Flush, work: (checksFirst: boolean) => Result) =>
      new Promise<Result>((resolve, reject) => {
        if (closed) return reject(closedFault(file));
        if (waiting.length === 0) setImmediate(flush);
        waiting.push(newOperation(flushing, work, resolve as Operation["resolve"], reject));
      }),
    close: () =>
      new Promise((resolve) => {
        closed = true;
        onIdle = resolve;
        flush();
      }),
  };
}

/**
 * Returns the longest pause before the next attempt, in milliseconds. The first pauses are short, because most
 * transactions are: a pause that is longer than the transaction leaves the file idle. Among many processes a write
 * waits longer, and so do the pauses. Work that has waited long tries often, so that the other processes do not keep it
 * waiting.
 */
function longestPause(waitedMs: number): number {
  const { firstPauseMs, busyPauseMs, hurryAfterMs, hurryPauseMs } = sqliteWaitTimes;
  return waitedMs > hurryAfterMs ? hurryPauseMs : Math.min(busyPauseMs, firstPauseMs + waitedMs / busyPauseMs);
}

function rejectAll(batch: readonly Operation[], error: unknown, file: string): void {
  const cause = error instanceof BeginFailedError ? error.cause : error;
  for (const op of batch) op.reject(toSqliteFault(cause, file));
}

function newOperation(
  flush: Flush,
  work: Operation["work"],
  resolve: Operation["resolve"],
  reject: Operation["reject"],
): Operation {
  return { flush, work, result: undefined, blockedAt: null, resolve, reject };
}

export function closedFault(file: string): FaultError {
  return new FaultError(fault("STORE_FAILED", `${file} was closed; open it again`));
}

/** The transaction did not begin, so no operation caused the error. */
class BeginFailedError extends Error {}

/** Makes a function that commits operations in one transaction and resolves them, or throws and commits none. */
function createTransactionRunner(
  db: SqliteDatabase,
  { onBegin, beforeCommit, onUndo }: Pick<GroupCommitPorts, "onBegin" | "beforeCommit" | "onUndo">,
): (ops: readonly Operation[]) => void {
  const begin = db.prepare("begin immediate");
  const commit = db.prepare("commit");
  let synchronous: Flush | undefined;

  const start = (flush: Flush): void => {
    try {
      // SQLite has one log, so a synced commit also syncs every earlier commit.
      if (flush !== synchronous) db.exec(`pragma synchronous = ${flush === "hard" ? "full" : "normal"}`);
      synchronous = flush;
      begin.run();
    } catch (cause) {
      throw new BeginFailedError("the transaction did not begin", { cause });
    }
  };

  const attempt = (ops: readonly Operation[], checksFirst: boolean): void => {
    start(ops.some(({ flush }) => flush === "hard") ? "hard" : "soft");
    try {
      onBegin();
      for (const op of ops) op.result = op.work(checksFirst);
      beforeCommit();
      commit.run();
    } catch (error) {
      // After some errors, such as a full disk, SQLite has already rolled back.
      if (db.isTransaction) db.exec("rollback");
      onUndo();
      throw error;
    }
  };

  return (ops) => {
    try {
      attempt(ops, false);
    } catch (error) {
      if (!(error instanceof LateRefusalError)) throw error;
      attempt(ops, true);
    }
    for (const op of ops) op.resolve(op.result);
  };
}
