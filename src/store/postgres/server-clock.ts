import { performance } from "node:perf_hooks";
import type { Clock } from "../../core/ports/clock.ts";
import type { Instant } from "../../core/values/ids.ts";

/** Estimates the server's time without a query. It never goes back. */
export interface ServerClock extends Clock {
  /** Corrects the estimate: the server answered `now` to a query sent at `sentAt` (by `performance.now`). */
  adjust(now: number, sentAt: number): void;
}

export function serverClock(): ServerClock {
  let ahead = 0;
  let latest = 0;
  return {
    now: () => {
      latest = Math.max(latest, Math.floor(performance.now() + ahead));
      return latest as Instant;
    },
    adjust: (now, sentAt) => {
      // The server read its clock between sending and now; the midpoint is wrong by at most half the round trip.
      ahead = now - (sentAt + performance.now()) / 2;
    },
  };
}
