import { fault } from "../core/fault.ts";
import { ALLOW, type Guard } from "../core/guard.ts";

/** Guard 7, its first limit: nothing starts after the run's deadline but the undoing of what was done. */
export const deadline: Guard = {
  id: "deadline",
  judge({ run, step, now }) {
    if (run.deadline_at === null || now < run.deadline_at || step.cause?.by === "undo") return ALLOW;
    const message = `${step.spec.step_id} was not started: the deadline of run ${run.id} has passed`;
    return { kind: "refuse", rule: "deadline", fault: fault("DEADLINE_EXCEEDED", message) };
  },
};
