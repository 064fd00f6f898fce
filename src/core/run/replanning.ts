import type { ReplanTerms } from "../event/replan.ts";
import type { LeanPlan, Plan } from "../plan/plan.ts";
import type { RejectedCall } from "../state/state-change.ts";

/** How a run continues after its plan did not complete, and which of its steps belong to the plan in force. */
export interface Replanning {
  /** Null: the run has fallback plans only. */
  readonly terms: ReplanTerms | null;
  /** The fallback plans that are not used yet, in their order. */
  readonly fallbacks: readonly LeanPlan[];
  /** The number of times that the replanner was asked. */
  readonly asked: number;
  /**
   * True: no other plan continues the run. The replanner knows none, the run has ended and was not resumed since, or a
   * person undoes its acts.
   */
  readonly isOver: boolean;
  /** The number of plans so far. */
  readonly plans: number;
  /** The plan in force, with the ids that its steps have in the run, and the index of its first step. */
  readonly inForce: Plan;
  readonly from: number;
  /** The calls of replaced plans that a person rejected. */
  readonly rejected: readonly RejectedCall[];
}
