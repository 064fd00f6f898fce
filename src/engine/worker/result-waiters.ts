import type { RunResult } from "../../core/run/run-result.ts";

interface ResultWaiter {
  readonly resolve: (result: RunResult | null) => void;
  readonly reject: (error: unknown) => void;
}

/** The callers that wait for a run to come to rest. */
export class ResultWaiters {
  readonly #waiters: ResultWaiter[] = [];

  /** Resolves with the result, or with null if another worker holds the run. */
  wait(): Promise<RunResult | null> {
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  /** Answers all callers. The result is made only if there is a caller. */
  resolve(makeResult: () => RunResult | null): void {
    if (this.#waiters.length === 0) return;
    const result = makeResult();
    for (const { resolve } of this.#waiters.splice(0)) resolve(result);
  }

  /** Tells all callers that the run is held by another worker now, or by none. */
  resolveWithNone(): void {
    this.resolve(() => null);
  }

  reject(error: unknown): void {
    for (const { reject } of this.#waiters.splice(0)) reject(error);
  }
}
