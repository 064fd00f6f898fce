import type { Instant } from "../values/ids.ts";

/** The injected source of time. Leases, expiries and timers follow the clock of the store. */
export interface Clock {
  now(): Instant;
}

/**
 * Milliseconds since an arbitrary start, for durations. It cannot be set, and it advances while the process is stopped.
 */
export type Stopwatch = () => number;

/** Injected timers, so that a simulated scheduler can drive the real engine. */
export interface Timers {
  /** Runs `work` once, no earlier than `ms` from now. Returns a function that cancels it. */
  after(ms: number, work: () => void): () => void;
  /** Runs `work` once after the callbacks of this turn of the event loop. Absent: by the event loop of the process. */
  endOfTurn?(work: () => void): void;
}

/** The injected source of randomness: each call returns a number in [0, 1). */
export type RandomSource = () => number;
