/** How a worker opens its store. */
export type StoreTask =
  | { readonly kind: "postgres"; readonly url: string; readonly leaseMs: number }
  | {
      readonly kind: "sqlite";
      readonly file: string;
      readonly leaseMs: number;
      readonly stallMs: number;
      /** The file with the offset of the clock. */
      readonly clock: string;
    };

/** The task of a worker process. */
export interface WorkerTask {
  readonly by: string;
  readonly store: StoreTask;
  /** Files that all workers share. */
  readonly world: string;
  readonly history: string;
  /** An order that is in force from the start; null: none. */
  readonly order: WorkerOrder | null;
}

/** The outputs of a worker that has started, and of a worker that is about to stop itself. */
export const WORKER_READY = "ready\n";
export const WORKER_STOPS = "stops\n";

/** An order to a running worker: to die or to stop when it next passes a failpoint of the engine or of its store. */
export interface WorkerOrder {
  readonly do: "die" | "stop";
  readonly at: string;
  /** The time (of the machine's clock) at which the order expires. */
  readonly until: number;
}
