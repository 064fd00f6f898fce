import { stateBounds } from "../../core/approval/principal.ts";
import { type Admission, ALLOW, type Guard } from "../../core/call/guard.ts";
import { isStepConditionMet } from "../../core/call/step-condition.ts";
import { conditionText, stateConditions } from "../../core/plan/condition.ts";
import { stepPrincipal } from "../../core/run/step-principal.ts";
import { isDeclaredPointer } from "../../core/state/state-access-order.ts";
import { fault } from "../../core/values/fault.ts";

/** Guard 4: checks the conditions of the step on the outputs of earlier steps and on the state. */
export const preconditionsGuard: Guard = {
  id: "preconditions",
  judge(admission) {
    const { run, step, proposal } = admission;
    const hidden = unreadablePlace(admission);
    if (hidden !== null) {
      const message = `${step.spec.step_id} has a condition on ${hidden}, which its principal may not read`;
      return { kind: "refuse", rule: "preconditions", fault: fault("AUTH_FORBIDDEN", message) };
    }
    const broken = step.spec.preconditions.find((each) => !isStepConditionMet(run, each, proposal.policy_state));
    if (broken === undefined) return ALLOW;
    const message = `${step.spec.step_id} needs ${conditionText(broken)}, which is false; it was not run`;
    return { kind: "refuse", rule: "preconditions", fault: fault("PRECONDITION_FAILED", message) };
  },
};

/** Returns a place of the state that a condition reads and a capability of the principal does not permit, or null. */
function unreadablePlace({ run, step }: Admission): string | null {
  const conditions = stateConditions(step.spec);
  if (conditions.length === 0) return null;
  const bounds = stateBounds(stepPrincipal(run, step));
  const isHidden = (place: string) =>
    bounds.some(({ state_reads, state_writes }) => {
      const permitted = state_reads === null ? null : [...state_reads, ...(state_writes ?? [])];
      return !isDeclaredPointer(permitted, place);
    });
  return conditions.find(({ state }) => isHidden(state))?.state ?? null;
}
