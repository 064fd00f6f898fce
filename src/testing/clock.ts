import type { Instant } from "../core/id.ts";
import type { Clock, Timers } from "../core/time/clock.ts";

/** Time that stands still until it is told to pass. */
export interface FakeClock extends Clock, Timers {
  /** Lets time pass and runs, in their order, the timers that fall due on the way. */
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
      // A timer may set another one, so the next is looked for anew each time.
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
