import { ALLOW, type Guard } from "../../core/call/guard.ts";
import { isUndoStep } from "../../core/run/step.ts";
import { projectLockFault } from "../../core/settings/project-lock.ts";

/** Guard 1: refuses every call in a locked or archived project, except undos. */
export const projectOpenGuard: Guard = {
  id: "project_open",
  judge({ run, step, closure }) {
    const flaw = isUndoStep(step) ? null : projectLockFault(run.project ?? "", closure);
    return flaw === null ? ALLOW : { kind: "refuse", rule: "project_open", fault: flaw };
  },
};
