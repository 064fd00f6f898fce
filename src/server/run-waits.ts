import type { RunResult } from "../core/run/run-result.ts";
import type { RunHandle } from "../engine/api/engine-api.ts";
import type { PrincipalInput } from "../engine/api/principal-input.ts";
import { httpLimits } from "./http-limits.ts";

/** One wait for a run, and the number of requests that wait for it. */
interface SharedWait {
  readonly result: Promise<RunResult>;
  readonly stop: AbortController;
  requests: number;
}

/**
 * Waits for runs. All requests of a principal for one run share one wait, however often they ask. A wait ends with its
 * last request: a run can wait for a person for weeks.
 */
export class RunWaits {
  readonly #waits = new Map<string, SharedWait>();

  /** The number of waits in progress. */
  get size(): number {
    return this.#waits.size;
  }

  /** Returns the result, or null if it is not there in time. */
  async wait(
    principal: PrincipalInput,
    handle: RunHandle,
    until: "result" | "finished",
    ms: number,
    signal: AbortSignal,
  ): Promise<RunResult | null> {
    const key = JSON.stringify([principal, handle.run_id, until]);
    const wait = this.#waits.get(key) ?? this.#begin(key, handle, until);
    const limit = timeOrAbort(Math.min(ms, httpLimits.waitMs), signal);
    wait.requests += 1;
    try {
      return await Promise.race([wait.result, limit.ended]);
    } finally {
      limit.cancel();
      wait.requests -= 1;
      if (wait.requests === 0) this.#end(key, wait);
    }
  }

  #begin(key: string, handle: RunHandle, until: "result" | "finished"): SharedWait {
    const stop = new AbortController();
    const wait = { result: handle[until]({ signal: stop.signal }), stop, requests: 0 };
    wait.result.catch(() => {}); // The requests that wait for it receive the error.
    this.#waits.set(key, wait);
    return wait;
  }

  #end(key: string, wait: SharedWait): void {
    if (this.#waits.get(key) === wait) this.#waits.delete(key);
    wait.stop.abort();
  }
}

/** `ended` resolves with null after a time, or when the signal aborts. `cancel` ends it at once. */
function timeOrAbort(ms: number, signal: AbortSignal): { readonly ended: Promise<null>; cancel(): void } {
  let cancel = () => {};
  const ended = new Promise<null>((resolve) => {
    cancel = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", cancel);
      resolve(null);
    };
    const timer = setTimeout(() => cancel(), ms);
    signal.addEventListener("abort", cancel, { once: true });
    if (signal.aborted) cancel();
  });
  return { ended, cancel };
}
