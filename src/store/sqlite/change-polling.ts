import type { Timers } from "../../core/ports/clock.ts";

const pollIntervalMs = 50;

export interface ChangePolling {
  watch(hint: () => void): () => void;
  /** Ends every watch. */
  stop(): void;
}

/** Polls `version`. SQLite changes its data version when another connection writes. */
export function createChangePolling(timers: Timers, version: () => number | undefined): ChangePolling {
  const stops = new Set<() => void>();
  const readVersion = (): number | undefined => {
    try {
      return version();
    } catch {
      // Polling never fails. The read that follows the hint reports the error to its caller.
      return undefined;
    }
  };
  return {
    watch: (hint) => {
      let latest = readVersion();
      let cancel = () => {};
      const poll = (): void => {
        cancel = timers.after(pollIntervalMs, poll);
        const found = readVersion();
        if (found !== undefined && found === latest) return;
        latest = found;
        hint();
      };
      cancel = timers.after(pollIntervalMs, poll);
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
