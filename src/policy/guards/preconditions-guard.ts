import { ALLOW, type Guard } from "../../core/call/guard.ts";
import { isConditionMet } from "../../core/plan/condition.ts";
import { findStep } from "../../core/run/run.ts";
import { fault } from "../../core/values/fault.ts";

/** Guard 4: checks the conditions of the step on the outputs of earlier steps. */
export const preconditionsGuard: Guard = {
  id: "preconditions",
  judge({ run, step }) {
    const broken = step.spec.preconditions.find((condition) => {
      const standing = findStep(run, condition.step)?.standing;
      return !isConditionMet(condition, () => (standing?.state === "succeeded" ? standing.output : undefined));
    });
    if (broken === undefined) return ALLOW;
    const condition = `${broken.step}${broken.path} ${broken.operator} ${JSON.stringify(broken.value)}`;
    const message = `${step.spec.step_id} needs ${condition}, which does not hold; it was not run`;
    return { kind: "refuse", rule: "preconditions", fault: fault("PRECONDITION_FAILED", message) };
  },
};
