import { ALLOW, type Guard } from "../../core/call/guard.ts";
import { stepKinds } from "../../core/plan/step-kinds.ts";
import { fault } from "../../core/values/fault.ts";

/** Guard 1: refuses a call of a tool that is not registered. */
export const toolRegisteredGuard: Guard = {
  id: "tool_known",
  judge({ step, proposal }) {
    if (!stepKinds[step.spec.kind].callsTool || proposal.tool !== null) return ALLOW;
    const message = `${step.spec.step_id} calls ${step.spec.name}, which is not registered; register it or call another tool`;
    return { kind: "refuse", rule: "tool_known", fault: fault("TOOL_UNKNOWN", message) };
  },
};
