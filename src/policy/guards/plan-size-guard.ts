import { ALLOW, type Guard } from "../../core/call/guard.ts";
import { fault } from "../../core/values/fault.ts";
import { effectiveMode } from "./mode-guard.ts";

/** Guard 7: limits the number of steps of a run by its mode. */
export const planSizeGuard: Guard = {
  id: "plan_size",
  judge(admission) {
    const { step, policy } = admission;
    const mode = effectiveMode(admission);
    const max = policy?.maxSteps(mode) ?? null;
    if (max === null || step.index < max || step.cause?.by === "undo") return ALLOW;
    const message = `${step.spec.step_id} is step ${step.index + 1}, and a run in mode ${mode} may have ${max}; use fewer steps or another mode`;
    return { kind: "refuse", rule: "plan_size", fault: fault("LIMIT_EXCEEDED", message) };
  },
};
