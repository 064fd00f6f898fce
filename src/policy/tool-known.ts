import { fault } from "../core/fault.ts";
import { ALLOW, type Guard } from "../core/guard.ts";

/** Guard 1: nobody runs what is not registered. */
export const toolKnown: Guard = {
  id: "tool_known",
  judge({ step, proposal }) {
    if (step.spec.kind !== "operator" || proposal.tool !== null) return ALLOW;
    const message = `${step.spec.step_id} asks for ${step.spec.name}, which is not registered; register it or ask for another`;
    return { kind: "refuse", rule: "tool_known", fault: fault("TOOL_UNKNOWN", message) };
  },
};
