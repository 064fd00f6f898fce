import type { Event } from "../../core/event/event.ts";
import type { Run } from "../../core/run/run.ts";

/** The owner of a leased run, as its mailbox sees it. */
export interface MailboxOwner {
  /** The store has these events. `fresh`: indices of the steps that they made ready. */
  onAppended(events: readonly Event[], fresh: readonly number[]): void;
  /** The run has moved on with results that the store does not have yet. `fresh`: indices of the steps that are ready. */
  onMovedOn(fresh: readonly number[]): void;
  /** Results with which the run has moved on could not be stored: the lease is lost, or the journal is broken. */
  fail(error: unknown): void;
  /** The store failed while an outcome waits to be appended. The mailbox offers the outcome again. */
  onStalled(error: unknown): void;
  /** Claims the new run, in the transaction that accepts it. Returns false if another worker holds it. */
  claimAccepted(): Promise<boolean>;
  /** True if the owner would return a result of this run, or of a call of an open run, though it still has work. */
  showsResult(after: Run, events: readonly Event[]): boolean;
}
