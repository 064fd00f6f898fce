import type { LogState } from "../../../core/store/store.ts";
import { waitTimes } from "../../../core/time/wait-times.ts";
import type { WorkerPorts } from "../../worker/worker-ports.ts";

/** Empties the log of the store after an erasure: at once, or in the background while a process still reads the log. */
export class DatabaseLogTruncation {
  readonly #ports: WorkerPorts;
  readonly #cancels = new Set<() => void>();
  #stopped = false;

  constructor(ports: WorkerPorts) {
    this.#ports = ports;
  }

  /** Tries for a short time: most readers end within milliseconds. */
  async truncate(): Promise<LogState> {
    const { store, timers } = this.#ports;
    const { logTruncationMs, logTruncationPauseMs } = waitTimes;
    let state = await store.truncateLog();
    for (let waited = 0; state === "pending" && waited < logTruncationMs; waited += logTruncationPauseMs) {
      await new Promise<void>((resolve) => void timers.after(logTruncationPauseMs, resolve));
      state = await store.truncateLog();
    }
    return state;
  }

  /** Tries until the log is empty or the engine closes, and then calls `onEmpty`. */
  truncateLater(onEmpty: () => Promise<void>): void {
    if (this.#stopped) return;
    const cancel = this.#ports.loopTimers.after(waitTimes.logTruncationRetryMs, () => {
      this.#cancels.delete(cancel);
      void this.#isEmptied()
        .then((isEmptied) => (isEmptied ? onEmpty() : this.truncateLater(onEmpty)))
        // The store is unavailable. The next attempt tries again.
        .catch(() => this.truncateLater(onEmpty));
    });
    this.#cancels.add(cancel);
  }

  stop(): void {
    this.#stopped = true;
    for (const cancel of this.#cancels) cancel();
  }

  async #isEmptied(): Promise<boolean> {
    const { store } = this.#ports;
    const end = await store.beginMaintenance();
    if (end === null) return false;
    try {
      return (await store.truncateLog()) !== "pending";
    } finally {
      end();
    }
  }
}
