import type { RunResult } from "../core/run/run-result.ts";
import type { RunHandle } from "../engine/api/engine-api.ts";
import type { PrincipalInput } from "../engine/api/principal-input.ts";
import { httpLimits } from "./http-limits.ts";

/** Waits for runs. All requests of a principal for one run share one wait, however often they ask. */
export class RunWaits {
  readonly #waits = new Map<string, Promise<RunResult>>();

  /** Returns the result, or null if it is not there in time. */
  async wait(
    { tenant, id }: PrincipalInput,
    handle: RunHandle,
    until: "result" | "finished",
    ms: number,
    signal: AbortSignal,
  ): Promise<RunResult | null> {
    const key = JSON.stringify([tenant, id, handle.run_id, until]);
    let wait = this.#waits.get(key);
    if (wait === undefined) {
      wait = handle[until]();
      this.#waits.set(key, wait);
      const remove = () => void this.#waits.delete(key);
      wait.then(remove, remove);
    }
    return Promise.race([wait, timeOrAbort(Math.min(ms, httpLimits.waitMs), signal)]);
  }
}

function timeOrAbort(ms: number, signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve(null);
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
  });
}
