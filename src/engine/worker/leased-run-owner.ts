import type { ActAttempt } from "../call/acts-in-flight.ts";
import type { ChildRunPort } from "../call/child-run-port.ts";

/** How a lease ended: the run has no more work, another worker holds it, or this worker failed with it. */
export type LeaseEnd = "rested" | "fenced" | "failed";

/** The owner of a leased run. */
export interface LeasedRunOwner {
  readonly childRuns: ChildRunPort;
  /** True if this worker held the run before and failed with it. */
  readonly hasFailed: boolean;
  /** The position of the run when this process first loaded it. */
  readonly loadedAt: number;
  onProgress(): void;
  /** The handler of an act has returned, and its end could not be recorded under the lease. */
  onReturn(act: ActAttempt): void;
  onEnd(end: LeaseEnd): void;
}
