import { isPlainObject } from "../../core/json/plain-object.ts";
import type { Stopwatch, Timers } from "../../core/ports/clock.ts";
import { FaultError } from "../../core/values/fault.ts";
import { exitBlockingTimers } from "./exit-blocking-timers.ts";
import { SQLITE_BUSY } from "./sqlite-fault.ts";
import { sqliteWaitTimes } from "./sqlite-wait-times.ts";

/**
 * Tries to open a store, by a timer, until no other process creates, migrates or recovers it. Throws the last fault
 * after a while, and any other fault at once.
 */
export async function retryOpening<Opened>(
  open: () => Opened,
  timers: Timers = exitBlockingTimers,
  stopwatch: Stopwatch = () => performance.now(),
): Promise<Opened> {
  const started = stopwatch();
  for (;;) {
    try {
      return open();
    } catch (error) {
      if (stopwatch() - started > waitMs(error)) throw error;
    }
    const pauseMs = 1 + Math.random() * (sqliteWaitTimes.openingPauseMs - 1);
    await new Promise<void>((resolve) => void timers.after(pauseMs, resolve));
  }
}

/** Returns how long to wait for another process after this error; 0 if none is the cause. */
function waitMs(error: unknown): number {
  if (!(error instanceof FaultError)) return 0;
  const { code, detail } = error.fault;
  const { sqlite, held } = isPlainObject(detail) ? detail : {};
  if (sqlite === SQLITE_BUSY || (code === "STORE_BUSY" && held === "alone")) return sqliteWaitTimes.openingMs;
  return code === "STORE_BUSY" ? sqliteWaitTimes.otherVersionMs : 0;
}
