import type { StepId } from "../values/ids.ts";
import type { ReplanCause } from "./replan.ts";
import type { AgentCause } from "./session.ts";

/** The origin of a step that is not part of the plan. */
export type StepCause =
  | AgentCause
  | ReplanCause
  | { readonly by: "errand"; readonly of: StepId }
  /** `rollback` is present if no person requested the undo: the plan is atomic and has aborted. */
  | { readonly by: "undo"; readonly of: StepId; readonly asked_by: string; readonly rollback?: true }
  /** The step puts the state and the files back that an atomic plan has written. */
  | { readonly by: "rollback" };
