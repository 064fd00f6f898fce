import type { Failpoint } from "../src/engine/ports/failpoint.ts";

/** The task of a worker process. */
export interface WorkerTask {
  readonly by: string;
  readonly url: string;
  readonly leaseMs: number;
  /** Files that all workers share. */
  readonly world: string;
  readonly history: string;
}

/** The outputs of a worker that has started, and of a worker that is about to stop itself. */
export const WORKER_READY = "ready\n";
export const WORKER_STOPS = "stops\n";

/** An order to a running worker: to die or to stop when it next passes a failpoint. */
export interface WorkerOrder {
  readonly do: "die" | "stop";
  readonly at: Failpoint;
  /** The time (of the machine's clock) at which the order expires. */
  readonly until: number;
}
