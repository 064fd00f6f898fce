import { ALLOW, type Guard } from "../../core/call/guard.ts";
import { fault } from "../../core/values/fault.ts";

/** Guard 7: refuses every call after the deadline of the run, except undos. */
export const deadlineGuard: Guard = {
  id: "deadline",
  judge({ run, step, now }) {
    if (run.deadline_at === null || now < run.deadline_at || step.cause?.by === "undo") return ALLOW;
    const message = `${step.spec.step_id} was not started: the deadline of run ${run.id} has passed`;
    return { kind: "refuse", rule: "deadline", fault: fault("DEADLINE_EXCEEDED", message) };
  },
};
