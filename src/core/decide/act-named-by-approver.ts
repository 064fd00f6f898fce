import type { BranchId } from "../event/left-act.ts";
import type { LedgerRow } from "../store/tables.ts";
import type { RunId, StepId } from "../values/ids.ts";

/** The earlier act that an approver names, and the facts about it from the store. */
export interface ActNamedByApprover {
  readonly run_id: RunId;
  readonly step_id: StepId;
  /** The last branch that left the act. Null: the run knows no such act. */
  readonly branch: BranchId | null;
  /** The ledger row of an act of another run. Null: the act is of this run, or has no row. */
  readonly ledger: LedgerRow | null;
  /** The call that an approver named the act for. Null: no approver has since the branch. */
  readonly named: {
    readonly version: number;
    readonly run_id: RunId;
    readonly step_id: StepId;
    /** True if the call has ended without the receipt of the act. */
    readonly isFree: boolean;
  } | null;
}
