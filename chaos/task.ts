import type { Failpoint } from "../src/engine/failpoint.ts";

/** What a worker is told at its start. */
export interface Task {
  readonly by: string;
  readonly url: string;
  readonly leaseMs: number;
  /** The files that all share. */
  readonly world: string;
  readonly history: string;
}

/** What it says when it has begun to work, and when it is about to faint. */
export const READY = "ready\n";
export const FAINTS = "faints\n";

/** What it may be told later: to die or to faint when it next passes a place on the road. */
export interface Order {
  readonly do: "die" | "faint";
  readonly at: Failpoint;
  /** From then on (by the clock of the machine) it is no longer wanted. */
  readonly until: number;
}
