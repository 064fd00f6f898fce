import type { Store } from "../src/core/store/store.ts";
import type { InjectedFault } from "./fault-injector.ts";
import type { LineAppender } from "./record-store.ts";
import type { StoreTask } from "./worker-task.ts";

/** An event of a store at the end of a test. */
export interface StoredEvent {
  readonly run: string;
  readonly type: string;
  /** Shortened. */
  readonly hash: string;
  readonly body: string;
}

export interface UndeliveredNotice {
  readonly notice: string;
  readonly run: string;
}

/** The tables of a store, read without the engine. */
export interface StoredTables {
  /** All events, by run and position. */
  events(): Promise<readonly StoredEvent[]>;
  notices(): Promise<readonly UndeliveredNotice[]>;
  /** The runs whose lease a worker holds. */
  heldRuns(): Promise<readonly string[]>;
  /** Describes a run as JSON: its head, timer, lease and last events. */
  describeRun(run: string): Promise<string>;
}

/** A store under test, and its own kinds of faults. */
export interface ChaosStore extends StoredTables {
  /** How a worker process opens it. */
  readonly task: StoreTask;
  /** True if a lease ends only by a release, the death of its worker or a long stop. Then each other end is an error. */
  readonly evicts: boolean;
  /** Opens it for an engine of the test. `checking`: after the test, without faults. */
  open(purpose: "testing" | "checking"): Promise<Store>;
  /** The faults of this store, by the name of their count. */
  faults(history: LineAppender): Readonly<Record<string, InjectedFault>>;
  /** Ends every fault that is still in force, after the last one. */
  calm(): Promise<void>;
  /** Ends what the test started beside the workers. */
  close(): void;
}
