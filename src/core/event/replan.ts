import type { LeanPlan } from "../plan/plan.ts";
import type { StepId } from "../values/ids.ts";
import type { ToolPin } from "./tool-pin.ts";

/** How a run is replanned when its plan does not complete. */
export interface ReplanTerms {
  /** The tool that is asked for another plan. */
  readonly by: string;
  /** The maximum number of times that it is asked. */
  readonly attempts: number;
  /** The time between the end of a plan and the question. Absent for 0. */
  readonly delay_ms?: number;
}

/** Another plan continues the run. Its steps are added to those of the run, and the plans before it are replaced. */
export interface RunReplanned {
  readonly type: "run.replanned";
  /** The plan with the ids that its steps have in the run. */
  readonly plan: LeanPlan;
  /** The pins of the tools that its steps call. */
  readonly tools: Readonly<Record<string, ToolPin>>;
  /** The step whose answer the plan is. Absent: the plan is a fallback plan of the submission. */
  readonly answer_of?: StepId;
}

/** The origin of a step that asks the replanner of the run. */
export interface ReplanCause {
  readonly by: "replan";
  /** The number of the question in its run, from 1. */
  readonly attempt: number;
}
