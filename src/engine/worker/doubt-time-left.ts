import type { Clock, Stopwatch } from "../../core/ports/clock.ts";
import type { Instant } from "../../core/values/ids.ts";

const REMEMBERED_MAX = 10_000;

/**
 * Measures by a stopwatch how long a doubt still has to wait. The journal has times of the wall clock, which can jump:
 * a jump forward must not end a wait early, and a jump back must not make it longer. The first look at a time converts
 * it to the stopwatch.
 */
export class DoubtTimeLeft {
  readonly #clock: Clock;
  readonly #stopwatch: Stopwatch;
  readonly #endsAt = new Map<string, number>();
  /** The difference between the clock and the stopwatch at the start of this process. */
  readonly #offset: number;

  constructor(clock: Clock, stopwatch: Stopwatch) {
    this.#clock = clock;
    this.#stopwatch = stopwatch;
    this.#offset = clock.now() - stopwatch();
  }

  /** Returns the milliseconds until `at`, at most `most`, and never too few. `name` identifies the wait. */
  atLeast(name: string, at: Instant, most: number): number {
    return this.#left(`atLeast ${at} ${name}`, at, most, Math.min);
  }

  /** Returns the milliseconds until `at`, at most `most`. It may be too few. `name` identifies the wait. */
  atMost(name: string, at: Instant, most: number): number {
    return this.#left(`atMost ${at} ${name}`, at, most, Math.max);
  }

  /** `pick` selects one of two times: that of the clock, and that of a clock without the jumps in this process. */
  #left(key: string, at: Instant, most: number, pick: (one: number, other: number) => number): number {
    const elapsed = this.#stopwatch();
    let endsAt = this.#endsAt.get(key);
    if (endsAt === undefined) {
      const now = pick(this.#clock.now(), elapsed + this.#offset);
      endsAt = elapsed + Math.min(Math.max(0, at - now), Math.max(0, most));
      this.#endsAt.set(key, endsAt);
      const [oldest] = this.#endsAt.keys();
      if (this.#endsAt.size > REMEMBERED_MAX && oldest !== undefined) this.#endsAt.delete(oldest);
    }
    return Math.max(0, Math.ceil(endsAt - elapsed));
  }
}
