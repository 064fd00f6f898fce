import { FaultError, fault } from "../../core/fault.ts";
import type { Database } from "./driver.ts";
import { asFault } from "./sqlite-fault.ts";

type Flush = "hard" | "soft";

/** One caller's work inside a transaction; its answer is given only once the transaction is committed. */
interface Op {
  readonly flush: Flush;
  readonly work: () => unknown;
  /** What the work came to, in the transaction that was tried last. */
  result: unknown;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

export interface GroupCommit {
  /** Joins the transaction of this turn. Either all of `work` is committed, or it rejects and nothing of it is. */
  join<Result>(flush: Flush, work: () => Result): Promise<Result>;
  /** Commits what waits, now. */
  flush(): void;
  /** Commits what waits and takes no more. */
  close(): void;
}

/**
 * Whatever is asked for in one turn of the event loop shares one transaction and, if any of it is hard, one sync.
 * There is no timer: `setImmediate` runs when the I/O of this turn was handed out, which gathers the outcomes of tools
 * that ended together, where a microtask would give each its own sync.
 */
export function groupCommit(db: Database, file: string): GroupCommit {
  const commit = transactions(db);
  let waiting: Op[] = [];
  let closed = false;

  const flush = (): void => {
    const batch = waiting;
    waiting = [];
    if (batch.length === 0) return;
    try {
      commit(batch);
    } catch (error) {
      retryAlone(batch, error);
    }
  };

  /** One op may have broken the batch; the others must not pay for it. */
  const retryAlone = (batch: readonly Op[], error: unknown): void => {
    const isHopeless = batch.length === 1 || error instanceof NotBegunError;
    for (const op of batch) {
      try {
        if (isHopeless) throw error;
        commit([op]);
      } catch (failure) {
        op.reject(asFault(failure instanceof NotBegunError ? failure.cause : failure, file));
      }
    }
  };

  return {
    join: <Result>(flushing: Flush, work: () => Result) =>
      new Promise<Result>((resolve, reject) => {
        if (closed) return reject(closedFault(file));
        if (waiting.length === 0) setImmediate(flush);
        waiting.push({ flush: flushing, work, result: undefined, resolve: resolve as Op["resolve"], reject });
      }),
    flush,
    close: () => {
      closed = true;
      flush();
    },
  };
}

export function closedFault(file: string): FaultError {
  return new FaultError(fault("STORE_FAILED", `${file} was closed; open it again`));
}

/** The transaction did not even begin, which no op can be the cause of. */
class NotBegunError extends Error {}

/** Runs ops in one transaction: all of them are committed and answered, or it throws and none is. */
function transactions(db: Database): (ops: readonly Op[]) => void {
  const begin = db.prepare("begin immediate");
  const commit = db.prepare("commit");
  let synchronous: Flush | undefined;

  const start = (flush: Flush): void => {
    try {
      // SQLite has one log, so a synced commit takes every earlier unsynced one to the disk with it.
      if (flush !== synchronous) db.exec(`pragma synchronous = ${flush === "hard" ? "full" : "normal"}`);
      synchronous = flush;
      begin.run();
    } catch (cause) {
      throw new NotBegunError("not begun", { cause });
    }
  };

  return (ops) => {
    start(ops.some(({ flush }) => flush === "hard") ? "hard" : "soft");
    try {
      for (const op of ops) op.result = op.work();
      commit.run();
    } catch (error) {
      // SQLite has already rolled back by itself after some errors, a full disk among them.
      if (db.isTransaction) db.exec("rollback");
      throw error;
    }
    for (const op of ops) op.resolve(op.result);
  };
}
