import type { Clock, Timers } from "../core/ports/clock.ts";
import type { Instant } from "../core/values/ids.ts";

/** A clock whose time changes only with `advance`. */
export interface FakeClock extends Clock, Timers {
  /** Advances the time and runs the timers that become due, in order. */
  advance(ms: number): void;
}

interface Timer {
  readonly at: number;
  readonly work: () => void;
}

export function fakeClock(start = 1_700_000_000_000): FakeClock {
  let now = start;
  let timers: readonly Timer[] = [];

  return {
    now: () => now as Instant,
    after: (ms, work) => {
      const timer = { at: now + ms, work };
      timers = [...timers, timer];
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    advance: (ms) => {
      const end = now + ms;
      // A timer may set another one, so the search starts again each time.
      for (let next = earliest(timers, end); next !== undefined; next = earliest(timers, end)) {
        const due = next;
        timers = timers.filter((other) => other !== due);
        now = Math.max(now, due.at);
        due.work();
      }
      now = end;
    },
  };
}

function earliest(timers: readonly Timer[], end: number): Timer | undefined {
  return timers
    .filter(({ at }) => at <= end)
    .reduce<Timer | undefined>(
      (first, timer) => (first === undefined || timer.at < first.at ? timer : first),
      undefined,
    );
}
