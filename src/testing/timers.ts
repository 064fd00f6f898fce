import type { Timers } from "../core/time/clock.ts";
import type { FakeClock } from "./clock.ts";

/** Timers that ring only when time is made to pass. */
export interface ManualTimers extends Timers {
  /**
   * Lets time pass on the clock. Timers ring in their order, each at its own moment, and what one sets off gets to run
   * before the next: an engine that retries in a second and again in two does both within three.
   */
  pass(ms: number): Promise<void>;
  /** How many are set. */
  readonly armed: number;
}

interface Timer {
  readonly at: number;
  readonly work: () => void;
}

/**
 * `answered` waits for what is under way outside of this process, such as a database's answer, and says whether there was any:
 * time does not pass while there is.
 */
export function manualTimers(clock: FakeClock, answered?: () => Promise<boolean>): ManualTimers {
  const timers = new Set<Timer>();
  const breathe = (turns: number): Promise<void> => breatheFor(turns, answered);
  return {
    after: (ms, work) => {
      const timer = { at: clock.now() + Math.max(0, ms), work };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    pass: async (ms) => {
      const end = clock.now() + ms;
      await breathe(manyTurns);
      for (let next = earliest(timers, end); next !== undefined; next = earliest(timers, end)) {
        timers.delete(next);
        clock.advance(Math.max(0, next.at - clock.now()));
        next.work();
        await breathe(someTurns);
      }
      clock.advance(Math.max(0, end - clock.now()));
      await breathe(manyTurns);
    },
    get armed() {
      return timers.size;
    },
  };
}

/** Of those that ring at the same moment, the one set first. */
function earliest(timers: ReadonlySet<Timer>, end: number): Timer | undefined {
  let first: Timer | undefined;
  for (const timer of timers) if (timer.at <= end && (first === undefined || timer.at < first.at)) first = timer;
  return first;
}

/** Turns of the event loop for what a timer set off; an append is one or two. */
const someTurns = 5;

/** And for everything that is under way when time begins or stops to pass: a step's whole road is a handful of appends. */
const manyTurns = 25;

/** Lets what is ready run. Nothing waits for a time to pass. */
async function breatheFor(turns: number, answered?: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    if (await answered?.()) turn = 0; // Whoever waited for an answer has something to do now.
  }
}
