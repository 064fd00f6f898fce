import { doesHold, isConditionMet, isStateCondition } from "../plan/condition.ts";
import type { Condition } from "../plan/plan.ts";
import { findStep, type Run } from "../run/run.ts";
import type { PolicyState } from "../state/read-state-value.ts";

/** True if a condition of a step holds now. A condition on state that cannot be read is not met. */
export function isStepConditionMet(run: Run, condition: Condition, state: PolicyState | null): boolean {
  if (isStateCondition(condition)) {
    const found = state?.places[condition.state];
    return found !== undefined && !("wrong" in found) && doesHold(condition, found.value);
  }
  return isConditionMet(condition, (id) => {
    const standing = findStep(run, id)?.standing;
    return standing?.state === "succeeded" ? standing.output : undefined;
  });
}
