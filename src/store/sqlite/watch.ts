import type { Timers } from "../../core/time/clock.ts";

const everyMs = 50;

export interface Watching {
  watch(hint: () => void): () => void;
  /** Ends every watch. */
  stop(): void;
}

/** Looks now and then whether `version` has changed, which for SQLite means that another connection has written. */
export function watching(timers: Timers, version: () => number | undefined): Watching {
  const stops = new Set<() => void>();
  const look = (): number | undefined => {
    try {
      return version();
    } catch {
      // A hint is never the place to fail. Whoever follows it meets the error where it can be answered.
      return undefined;
    }
  };
  return {
    watch: (hint) => {
      let seen = look();
      let cancel = () => {};
      const tick = (): void => {
        cancel = timers.after(everyMs, tick);
        const found = look();
        if (found !== undefined && found === seen) return;
        seen = found;
        hint();
      };
      cancel = timers.after(everyMs, tick);
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
