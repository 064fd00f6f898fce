import { ALLOW, type Guard } from "../../core/call/guard.ts";

/** Guard 8: holds a step for which the plan requests a gate. A plan can add gates and never remove one. */
export const requestedGateGuard: Guard = {
  id: "plan_gate",
  judge({ step }) {
    if (step.spec.gate === "none") return ALLOW;
    return {
      kind: "hold",
      rule: "plan_gate",
      reason: `the plan requests an approval before ${step.spec.step_id}`,
      demand: { role: null },
    };
  },
};
