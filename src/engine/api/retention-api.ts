import type { RetentionCounts } from "../../core/settings/retention.ts";
import type { LogState } from "../../core/store/store.ts";

/** The result of retention: what it erased, and whether any of it is still in the log of the database. */
export interface RetentionReport extends RetentionCounts {
  /**
   * `empty`: nothing is left in the log, and the retention has ended. `pending`: a process still reads the log, and this
   * engine tries again until it is closed; after that, repeat the retention. `server`: a database server has a log of its
   * own, which Writ does not reach.
   */
  readonly log: LogState;
}
