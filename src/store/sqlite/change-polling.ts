import type { Timers } from "../../core/ports/clock.ts";
import { sqliteWaitTimes } from "./sqlite-wait-times.ts";

export interface ChangePolling {
  /** Calls `hint` after a write of another process. Looks more often while `isWaiting` returns true. */
  watch(hint: () => void, isWaiting?: () => boolean): () => void;
  /** Ends every watch. */
  stop(): void;
}

/** Polls `version`. SQLite changes its data version when another connection writes. */
export function createChangePolling(timers: Timers, version: () => number): ChangePolling {
  const stops = new Set<() => void>();
  return {
    watch: (hint, isWaiting = () => false) => {
      let latest = version();
      let cancel = () => {};
      const arm = (): void => {
        cancel = timers.after(isWaiting() ? sqliteWaitTimes.waitingPollMs : sqliteWaitTimes.pollMs, poll);
      };
      const poll = (): void => {
        arm();
        const found = version();
        if (found === latest) return;
        latest = found;
        hint();
      };
      arm();
      const stop = (): void => {
        cancel();
        stops.delete(stop);
      };
      stops.add(stop);
      return stop;
    },
    stop: () => {
      for (const stop of stops) stop();
    },
  };
}
