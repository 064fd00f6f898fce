import { performance } from "node:perf_hooks";
import type { Instant } from "../../core/id.ts";
import type { Clock } from "../../core/time/clock.ts";

/** The server's time, as far as it can be known without asking. It never goes back. */
export interface ServerClock extends Clock {
  /** The server said `now` to a question that was asked at `asked`, by our own stopwatch. */
  heard(now: number, asked: number): void;
}

export function serverClock(): ServerClock {
  let ahead = 0;
  let latest = 0;
  return {
    now: () => {
      latest = Math.max(latest, Math.floor(performance.now() + ahead));
      return latest as Instant;
    },
    heard: (now, asked) => {
      // It answered somewhere between the question and now; the middle is wrong by half the way at most.
      ahead = now - (asked + performance.now()) / 2;
    },
  };
}
