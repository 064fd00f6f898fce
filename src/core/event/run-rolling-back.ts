import type { Fault } from "../values/fault.ts";
import type { StepId } from "../values/ids.ts";

/** Why an atomic plan is rolled back: a step ended it, or a principal cancelled it. */
export type RollbackCause =
  | { readonly by: "step"; readonly step_id: StepId; readonly fault: Fault | null }
  | { readonly by: "cancel"; readonly principal: string; readonly reason: string };

/** An atomic plan has aborted. Its acts are undone next, the latest first, then its state and files are put back. */
export interface RunRollingBack {
  readonly type: "run.rolling_back";
  readonly cause: RollbackCause;
}
