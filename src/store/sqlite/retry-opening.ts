import { isPlainObject } from "../../core/json/plain-object.ts";
import type { Timers } from "../../core/ports/clock.ts";
import { FaultError } from "../../core/values/fault.ts";
import { keepingTimers } from "./keeping-timers.ts";
import { SQLITE_BUSY } from "./sqlite-fault.ts";
import { sqliteTimes } from "./sqlite-times.ts";

/**
 * Tries to open a store, by a timer, until no other process creates, migrates or recovers it. Throws the last fault
 * after a while, and any other fault at once.
 */
export async function retryOpening<Opened>(open: () => Opened, timers: Timers = keepingTimers): Promise<Opened> {
  const started = performance.now();
  for (;;) {
    try {
      return open();
    } catch (error) {
      if (!isBusy(error) || performance.now() - started > sqliteTimes.openingMs) throw error;
    }
    const pauseMs = 1 + Math.random() * (sqliteTimes.openingPauseMs - 1);
    await new Promise<void>((resolve) => void timers.after(pauseMs, resolve));
  }
}

function isBusy(error: unknown): boolean {
  if (!(error instanceof FaultError)) return false;
  const { code, detail } = error.fault;
  return code === "STORE_BUSY" || (isPlainObject(detail) && detail.sqlite === SQLITE_BUSY);
}
