import { type Capability, toolProblem } from "../../core/approval/principal.ts";
import { type Admission, ALLOW, type Guard } from "../../core/call/guard.ts";
import { stepKinds } from "../../core/plan/step-kinds.ts";
import { plannedSteps } from "../../core/run/plan-in-force.ts";
import { isReversal } from "../../core/run/step.ts";
import { stepPrincipal } from "../../core/run/step-principal.ts";
import { fault } from "../../core/values/fault.ts";

/** Guard 2: refuses a call unless every capability of the principal permits it. */
export const capabilityGuard: Guard = {
  id: "capability",
  judge(admission) {
    const { step, run } = admission;
    const { capabilities = [], id } = stepPrincipal(run, step);
    if (!stepKinds[step.spec.kind].callsTool || isReversal(step)) return ALLOW;
    for (const capability of capabilities) {
      const why = capabilityProblem(capability, admission);
      if (why === null) continue;
      const message = `${id} may not run ${step.spec.step_id}: ${why}`;
      return { kind: "refuse", rule: "capability", fault: fault("AUTH_FORBIDDEN", message) };
    }
    return ALLOW;
  },
};

/** Returns why the capability does not permit the call, or null. A plan with too many steps runs none of them. */
function capabilityProblem(capability: Capability, { step, run }: Admission): string | null {
  const { max_actions } = capability;
  const why = toolProblem(capability, step.spec.name);
  if (why !== null) return why;
  if (max_actions === undefined) return null;
  const planned = plannedSteps(run);
  if (planned > max_actions) return `its plan has ${planned} steps, and the limit is ${max_actions} steps per run`;
  return step.index >= max_actions ? `its limit is ${max_actions} steps per run` : null;
}
