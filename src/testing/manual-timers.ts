import type { Timers } from "../core/ports/clock.ts";
import type { FakeClock } from "./fake-clock.ts";

/** Timers that fire only when a test lets time pass. */
export interface ManualTimers extends Timers {
  /**
   * Advances the clock. Timers fire in order, each at its due time, and async work that one starts runs before the
   * next: an engine that retries after one second and again after two does both within `pass(3000)`.
   */
  pass(ms: number): Promise<void>;
  /** The number of timers that are set. */
  readonly armed: number;
}

interface Timer {
  readonly at: number;
  readonly work: () => void;
}

/**
 * `waitForReplies` waits for pending replies from outside the process, such as those of a database, and returns true if
 * there were any. Time does not pass before they arrive.
 */
export function manualTimers(clock: FakeClock, waitForReplies?: () => Promise<boolean>): ManualTimers {
  const timers = new Set<Timer>();
  const runPending = (turns: number): Promise<void> => runEventLoop(turns, waitForReplies);
  return {
    after: (ms, work) => {
      const timer = { at: clock.now() + Math.max(0, ms), work };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    pass: async (ms) => {
      const end = clock.now() + ms;
      await runPending(turnsToSettle);
      for (let next = earliest(timers, end); next !== undefined; next = earliest(timers, end)) {
        timers.delete(next);
        clock.advance(Math.max(0, next.at - clock.now()));
        next.work();
        await runPending(turnsPerTimer);
      }
      clock.advance(Math.max(0, end - clock.now()));
      await runPending(turnsToSettle);
    },
    get armed() {
      return timers.size;
    },
  };
}

/** Among timers with the same due time, returns the one that was set first. */
function earliest(timers: ReadonlySet<Timer>, end: number): Timer | undefined {
  let first: Timer | undefined;
  for (const timer of timers) if (timer.at <= end && (first === undefined || timer.at < first.at)) first = timer;
  return first;
}

/** Turns of the event loop after each timer. An append takes one or two. */
const turnsPerTimer = 5;

/** Turns of the event loop before and after time passes. One step takes a few appends. */
const turnsToSettle = 25;

/** Runs the event loop for some turns, without waiting for time to pass. */
async function runEventLoop(turns: number, waitForReplies?: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    if (await waitForReplies?.()) turn = 0; // The code that awaited the reply now has work to do.
  }
}
