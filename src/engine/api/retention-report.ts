import type { RetentionCounts } from "../../core/settings/retention-events.ts";
import type { LogState } from "../../core/store/store.ts";
import type { ReasonOptions } from "./request-options.ts";

/** The session to forget. */
export interface ForgetOptions extends ReasonOptions {
  readonly session: string;
  /** The principal that opened the session. Default: the principal that forgets it. */
  readonly owner?: string;
  readonly project?: string;
  readonly subject?: string;
}

/** The result of retention: what it erased, and whether any of it is still in the log of the database. */
export interface RetentionReport extends RetentionCounts {
  /**
   * `empty`: nothing is left in the log, and the retention has ended. `pending`: a process still reads the log, and this
   * engine tries again until it is closed; after that, repeat the retention. Also `pending`: acts of a forgotten session
   * have not ended, and a worker erases their runs later. `server`: a database server has a log of its
   * own, which Writ does not reach.
   */
  readonly log: LogState;
}
