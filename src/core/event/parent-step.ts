import type { RunId, StepId } from "../values/ids.ts";

/** The step that started a child run. */
export interface ParentStep {
  readonly run_id: RunId;
  readonly step_id: StepId;
  /** The number of runs above the child run. */
  readonly depth: number;
  /** The ancestors of the parent run, the nearest first. Absent if there are none. */
  readonly above?: readonly RunId[];
  /** The maximum size of the outputs in the report of the child run. */
  readonly most_bytes: number;
  /** The number of items if the step is a `for_each`: the report then has the outputs as a list. */
  readonly items?: number;
}
