import type { Stopwatch } from "../../core/ports/clock.ts";
import { sqliteWaitTimes } from "./sqlite-wait-times.ts";

/** An observer that misses this many checks was stopped itself. A busy machine delays a check by several intervals. */
const looksMissedMax = 4;

/** The beat of a worker: it changes while the worker runs. Null: the worker has no row. */
export type Beat = number | null;

/**
 * Decides by the beats of other workers which of them are stalled. Time is that of the observer alone. If the observer
 * itself did not look for a while, for example because its machine was suspended, it starts to count again.
 */
export class StalledWorkers {
  readonly #stallMs: number;
  readonly #stopwatch: Stopwatch;
  readonly #seen = new Map<string, { readonly beat: Beat; readonly since: number }>();
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(stallMs: number, stopwatch: Stopwatch) {
    this.#stallMs = stallMs;
    this.#stopwatch = stopwatch;
  }

  /** Begins a look at these workers and forgets all others. */
  look(workers: readonly string[]): void {
    const now = this.#stopwatch();
    const mostMs = Math.max(this.#stallMs / 10, looksMissedMax * sqliteWaitTimes.lookMs);
    if (now - this.#lookedAt >= mostMs) this.#seen.clear();
    this.#lookedAt = now;
    for (const worker of this.#seen.keys()) if (!workers.includes(worker)) this.#seen.delete(worker);
  }

  /** Returns whether the beat has been the same for so long that the worker counts as stalled. */
  isStalled(worker: string, beat: Beat): boolean {
    const seen = this.#seen.get(worker);
    if (seen !== undefined && seen.beat === beat) return this.#lookedAt - seen.since >= this.#stallMs;
    this.#seen.set(worker, { beat, since: this.#lookedAt });
    return false;
  }
}
