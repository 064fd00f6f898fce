import type { Stopwatch } from "../../core/ports/clock.ts";

/**
 * The leases that a worker of this process holds but no longer renews: it failed to continue their runs. They end after
 * a time that the worker itself measures.
 */
export class AbandonedLeases {
  readonly #leaseMs: number;
  readonly #stopwatch: Stopwatch;
  /** When the last renewal before was, by worker and lease. */
  readonly #since = new Map<string, ReadonlyMap<string, number>>();

  constructor(leaseMs: number, stopwatch: Stopwatch) {
    this.#leaseMs = leaseMs;
    this.#stopwatch = stopwatch;
  }

  /** Records the leases that a renewal left out. Returns those that all renewals have left out for too long. */
  record(worker: string, leftOut: readonly string[]): readonly string[] {
    const now = this.#stopwatch();
    const before = this.#since.get(worker);
    const since = new Map(leftOut.map((lease) => [lease, before?.get(lease) ?? now]));
    this.#since.set(worker, since);
    return leftOut.filter((lease) => now - (since.get(lease) ?? now) >= this.#leaseMs);
  }
}
