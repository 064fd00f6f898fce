import type { Instant } from "../id.ts";

/** Time comes in by the door. A store's clock is the one that leases, expiries and timers are judged by. */
export interface Clock {
  now(): Instant;
}

/** Milliseconds since whenever. It runs on while the process stands still, and nobody can set it: for how long something took. */
export type Stopwatch = () => number;

/** Waiting comes in by the door, too, so that a simulated scheduler can drive the real engine. */
export interface Timers {
  /** Runs `work` once, no earlier than `ms` from now. Returns how to take it back. */
  after(ms: number, work: () => void): () => void;
}

/** Chance, by the door: a number in [0, 1). */
export type Dice = () => number;
