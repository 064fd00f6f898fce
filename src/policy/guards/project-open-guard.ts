import type { Verb } from "../../core/approval/verb-rules.ts";
import { ALLOW, type Guard } from "../../core/call/guard.ts";
import { isReversal } from "../../core/run/step.ts";
import { projectLockFault } from "../../core/settings/project-lock.ts";

/** Guard 1: refuses every call in a locked or archived project, except undos, rollbacks and held requests to change the lock. */
export const projectOpenGuard: Guard = {
  id: "project_open",
  judge({ run, step, closure }) {
    const isExempt = isReversal(step) || (step.spec.kind === "verb" && lockVerbs.includes(step.spec.name));
    const flaw = isExempt ? null : projectLockFault(run.project ?? "", closure);
    return flaw === null ? ALLOW : { kind: "refuse", rule: "project_open", fault: flaw };
  },
};

const lockVerbs: readonly string[] = ["projects.open", "projects.close"] satisfies readonly Verb[];
