import type { RandomSource, Stopwatch, Timers } from "../../core/ports/clock.ts";
import { closedFault } from "./group-commit.ts";
import type { SqliteContext } from "./sqlite-context.ts";
import { SQLITE_BUSY, sqliteCode, toSqliteFault } from "./sqlite-fault.ts";
import { sqliteWaitTimes } from "./sqlite-wait-times.ts";

interface ReadPorts {
  readonly timers: Timers;
  readonly stopwatch: Stopwatch;
  readonly dice: RandomSource;
}

interface SqliteReads extends Pick<SqliteContext, "read"> {
  /** Reads at once. Throws if another process locks the file, and does not wait. */
  readNow<Result>(work: () => Result): Result;
  /** Lets every later read fail. */
  close(): void;
}

/** Makes the functions that read outside a transaction. Nothing waits inside SQLite: that would block the event loop. */
export function sqliteReads(file: string, { timers, stopwatch, dice }: ReadPorts): SqliteReads {
  let isOpen = true;
  const attempt = <Result>(work: () => Result): Result => {
    if (!isOpen) throw closedFault(file);
    return work();
  };
  const readNow = <Result>(work: () => Result): Result => {
    try {
      return attempt(work);
    } catch (error) {
      throw toSqliteFault(error, file);
    }
  };
  const pause = () =>
    new Promise<void>((resolve) => void timers.after(1 + dice() * (sqliteWaitTimes.busyPauseMs - 1), resolve));
  const readLater = async <Result>(work: () => Result, since: number): Promise<Result> => {
    while (stopwatch() - since < sqliteWaitTimes.busyMs) {
      await pause();
      try {
        return attempt(work);
      } catch (error) {
        if (sqliteCode(error) !== SQLITE_BUSY) throw toSqliteFault(error, file);
      }
    }
    return readNow(work);
  };
  const read = <Result>(work: () => Result): Result | Promise<Result> => {
    try {
      return attempt(work);
    } catch (error) {
      if (sqliteCode(error) === SQLITE_BUSY) return readLater(work, stopwatch());
      throw toSqliteFault(error, file);
    }
  };
  return {
    readNow,
    read,
    close: () => {
      isOpen = false;
    },
  };
}
