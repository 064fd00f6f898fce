import { ALLOW, type Guard } from "../core/guard.ts";

/** Guard 8: a plan can add a gate to any step; it can never take one away. */
export const planGate: Guard = {
  id: "plan_gate",
  judge({ step }) {
    if (step.spec.gate === "none") return ALLOW;
    return {
      kind: "hold",
      rule: "plan_gate",
      reason: `the plan asks for a person before ${step.spec.step_id}`,
      demand: { role: null },
    };
  },
};
