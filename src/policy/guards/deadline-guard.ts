import { ALLOW, type Guard } from "../../core/call/guard.ts";
import { deadlineFault } from "../../core/run/deadline-fault.ts";
import { isReversal } from "../../core/run/step.ts";

/** Guard 7: refuses every call after the deadline of the run, except undos. */
export const deadlineGuard: Guard = {
  id: "deadline",
  judge({ run, step, now }) {
    if (run.deadline_at === null || now < run.deadline_at || isReversal(step)) return ALLOW;
    return { kind: "refuse", rule: "deadline", fault: deadlineFault(run, step) };
  },
};
