import { fault } from "../core/fault.ts";
import { ALLOW, type Guard } from "../core/guard.ts";
import { modeOf } from "./mode-allows.ts";

/** Guard 7: how many steps a run of this mode may have. */
export const planSize: Guard = {
  id: "plan_size",
  judge(admission) {
    const { step, policy } = admission;
    const mode = modeOf(admission);
    const most = policy?.stepsMost(mode) ?? null;
    if (most === null || step.index < most || step.cause?.by === "undo") return ALLOW;
    const message = `${step.spec.step_id} is step ${step.index + 1}, and a run in mode ${mode} may have ${most}; take fewer, or ask for another mode`;
    return { kind: "refuse", rule: "plan_size", fault: fault("LIMIT_EXCEEDED", message) };
  },
};
