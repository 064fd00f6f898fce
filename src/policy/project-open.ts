import { closureFault } from "../core/closure.ts";
import { ALLOW, type Guard } from "../core/guard.ts";
import { isUndo } from "../core/step.ts";

/** Guard 1: nothing is done in a project that is locked or archived, but the undoing of what was. */
export const projectOpen: Guard = {
  id: "project_open",
  judge({ run, step, closure }) {
    const flaw = isUndo(step) ? null : closureFault(run.project ?? "", closure);
    return flaw === null ? ALLOW : { kind: "refuse", rule: "project_open", fault: flaw };
  },
};
