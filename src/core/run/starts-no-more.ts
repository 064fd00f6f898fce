import { isReplaced } from "./plan-in-force.ts";
import { getStep, type Run, startsNoCalls } from "./run.ts";
import type { Step } from "./step.ts";

/** Returns the step whose success led to an errand, directly or through other errands. Any other step is its own origin. */
export function errandOrigin(run: Run, step: Step): Step {
  let origin = step;
  while (origin.cause?.by === "errand") origin = getStep(run, { step_id: origin.cause.of });
  return origin;
}

/** True if the step, or a call that it is an errand of, was unfinished when a branch left it. */
function isLeftCall(run: Run, step: Step): boolean {
  const left = run.conversation?.leftCalls;
  if (left === undefined || left.size === 0) return false;
  for (let each = step; ; each = getStep(run, { step_id: each.cause.of })) {
    if (left.has(each.spec.step_id)) return true;
    if (each.cause?.by !== "errand") return false;
  }
}

/**
 * True if no attempt of the step starts any more: the run was cancelled or closed, a branch has left the call, or the
 * plan of the step was replaced.
 */
export function startsNoMore(run: Run, step: Step): boolean {
  return startsNoCalls(run) || isLeftCall(run, step) || isReplaced(run, step);
}
