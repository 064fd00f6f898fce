import type { Capture } from "../ports/resource.ts";
import type { StepId } from "../values/ids.ts";
import type { Run } from "./run.ts";

/** The step that puts state and files back. No step of a plan and no errand has this id. */
export const RESTORE_STEP = "rollback.restore" as StepId;

/** The tool of that step, which the engine has built in. */
export const ROLLBACK_TOOL = "plan.rollback";

/** The changes of a run that its rollback puts back. */
export interface ChangesToRollBack {
  /** The versions of the state that calls of the run made. */
  readonly versions: ReadonlySet<number>;
  /** The captures of the resources that they changed, in the order of their steps. */
  readonly captures: readonly Capture[];
}

/** Returns the changes of state and resources that the calls of a run have committed. */
export function changesToRollBack({ steps }: Run): ChangesToRollBack {
  const versions = new Set<number>();
  const captures: Capture[] = [];
  for (const { checkpoint } of steps) {
    if (checkpoint === null) continue;
    captures.push(...checkpoint.captures.filter(({ access }) => access !== "watched"));
    if (checkpoint.after !== null && checkpoint.after !== checkpoint.before) versions.add(checkpoint.after);
  }
  return { versions, captures };
}
