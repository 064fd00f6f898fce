import type { Timers } from "../../core/ports/clock.ts";

/** Timers that keep the process from ending. */
export const exitBlockingTimers: Timers = {
  after: (ms, work) => {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};
