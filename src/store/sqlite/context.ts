import type { Clock } from "../../core/time/clock.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { Statements } from "./statements.ts";

/** What the parts of the store work with. */
export interface Context {
  readonly statements: Statements;
  readonly group: GroupCommit;
  readonly clock: Clock;
  readonly leaseMs: number;
  /** Answers from the connection as it is, with SQLite's errors told as faults. */
  read<Result>(work: () => Result): Result;
}
