import type { Epoch, Instant, StepId, WorkerId } from "../values/ids.ts";

/**
 * A worker took the run over from a worker that had not released it. Many takeovers without progress are evidence that
 * the run kills its workers.
 */
export interface Takeover {
  readonly by: WorkerId;
  /** The previous worker. It is dead, or it did not renew its lease. */
  readonly from: WorkerId;
  readonly epoch: Epoch;
  readonly at: Instant;
  /** The position of the `run.taken` event. */
  readonly position: number;
  /** The steps that may have been running, as far as the journal shows. */
  readonly steps: readonly StepId[];
}
