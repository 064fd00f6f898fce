import { ALLOW, type Guard } from "../../core/call/guard.ts";
import { plannedSteps } from "../../core/run/plan-in-force.ts";
import { isReversal } from "../../core/run/step.ts";
import { fault } from "../../core/values/fault.ts";
import { effectiveMode } from "./mode-guard.ts";

/** Guard 7: limits the number of steps of a run by its mode. */
export const planSizeGuard: Guard = {
  id: "plan_size",
  judge(admission) {
    const { run, step, policy } = admission;
    const mode = effectiveMode(admission);
    const max = policy?.maxSteps(mode) ?? null;
    const planned = plannedSteps(run);
    if (max === null || (step.index < max && planned <= max) || isReversal(step)) return ALLOW;
    const place = planned > max ? `in a plan of ${planned} steps` : `step ${step.index + 1}`;
    const message = `${step.spec.step_id} is ${place}, and a run in mode ${mode} may have ${max}; use fewer steps or another mode`;
    return { kind: "refuse", rule: "plan_size", fault: fault("LIMIT_EXCEEDED", message) };
  },
};
