import type { Clock } from "../../core/ports/clock.ts";
import type { ClaimTerms } from "../../core/store/store.ts";
import type { WorkerId } from "../../core/values/ids.ts";
import type { AbandonedLeases } from "./abandoned-leases.ts";
import type { AppendContext } from "./append-context.ts";
import type { GroupCommit } from "./group-commit.ts";

/** The registered workers of this process. */
export interface OwnWorkers {
  /** True if their latest beat is so old that a new one has to be written. */
  readonly isBeatDue: boolean;
  /** Shows, inside a transaction, that they run. */
  beat(): void;
  /** Returns whether the rules and offers of a worker are not recorded yet. */
  lacksTerms(worker: WorkerId, terms: ClaimTerms): boolean;
  /** Records, inside a transaction, the rules and offers of a worker, if they are new. */
  setTerms(worker: WorkerId, terms: ClaimTerms): void;
}

/** The shared context of the parts of the store. */
export interface SqliteContext extends AppendContext {
  readonly group: GroupCommit;
  readonly clock: Clock;
  /**
   * Reads outside a transaction, at once; if another process has locked the file, to recover or to close it, tries again
   * by a timer. Throws errors of SQLite as faults.
   */
  read<Result>(work: () => Result): Result | Promise<Result>;
  readonly workers: OwnWorkers;
  readonly unrenewed: AbandonedLeases;
}
