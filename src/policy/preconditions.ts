import { fault } from "../core/fault.ts";
import { ALLOW, type Guard } from "../core/guard.ts";
import { holds } from "../core/plan/condition.ts";
import { findStep } from "../core/run.ts";

/** Guard 4: the step's own conditions on what earlier steps found. */
export const preconditions: Guard = {
  id: "preconditions",
  judge({ run, step }) {
    const broken = step.spec.preconditions.find((condition) => {
      const standing = findStep(run, condition.step)?.standing;
      return !holds(condition, () => (standing?.state === "succeeded" ? standing.output : undefined));
    });
    if (broken === undefined) return ALLOW;
    const claim = `${broken.step}${broken.path} ${broken.operator} ${JSON.stringify(broken.value)}`;
    const message = `${step.spec.step_id} needs ${claim}, which does not hold; it was not run`;
    return { kind: "refuse", rule: "preconditions", fault: fault("PRECONDITION_FAILED", message) };
  },
};
