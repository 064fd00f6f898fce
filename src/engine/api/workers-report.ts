import type { MissingWorker } from "../../core/run/missing-worker.ts";
import type { Digest, Instant, RunId, WorkerId } from "../../core/values/ids.ts";

/** The workers of the store, and the runs of a tenant that no worker continues. */
export interface WorkersReport {
  readonly workers: readonly WorkerView[];
  readonly waiting: readonly WaitingRun[];
}

/** A worker and the runs of the tenant that it leases. */
export interface WorkerView {
  readonly worker: WorkerId;
  /** The version of Writ, the host and the process. Null: the worker is no longer registered. */
  readonly version: string | null;
  readonly host: string | null;
  readonly pid: number | null;
  /** The digest of its rules. Null: it claims no more runs. */
  readonly rules: Digest | null;
  /** The tools that it offers, as `name@version`. */
  readonly tools: readonly string[];
  /** True if it delivers notices. */
  readonly notices: boolean;
  readonly runs: readonly {
    readonly run_id: RunId;
    /** Null: the run has nothing left to do, and its lease is about to be released. */
    readonly queue: string | null;
    /** When the worker claimed the run. */
    readonly since: Instant;
    /** When other workers may claim the run, unless the lease is renewed. Null on SQLite: leases do not end by time. */
    readonly until: Instant | null;
  }[];
}

/** A run that could continue, if a worker had everything that it needs. */
export interface WaitingRun extends MissingWorker {
  readonly run_id: RunId;
  /** The digest of its rules. Null for a run of an older version. */
  readonly rules: Digest | null;
}
