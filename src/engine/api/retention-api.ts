/** The result of retention: what it erased. */
export interface RetentionReport {
  readonly runs: number;
  readonly events: number;
  /** Runs that were skipped because they have undelivered notices. */
  readonly waiting: number;
  /** Snapshots of state that newer snapshots have replaced. */
  readonly snapshots: number;
}
