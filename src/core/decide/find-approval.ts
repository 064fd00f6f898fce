import { type Demand, isConfirmation, isDemandMet } from "../approval/approval-demand.ts";
import type { Call } from "../event/event.ts";
import { gateVoteTerms } from "../run/gate-vote-terms.ts";
import { type Gate, getStep, type Run } from "../run/run.ts";
import type { Step } from "../run/step.ts";
import type { Instant } from "../values/ids.ts";

/** Returns the gate whose unexpired approval covers this call and meets the demand, or null. */
export function findApproval(run: Run, step: Step, call: Call, demand: Demand | null, now: Instant): Gate | null {
  const gate = lastApprovedGate(run, step);
  if (gate === null || !isApprovalValid(gate, call, now)) return null;
  return demand === null || isDemandMet({ ...gateVoteTerms(run, gate), demand }, gate.votes) ? gate : null;
}

/** Returns the last gate of the step if it is approved, whether or not an attempt has used the approval. */
export function lastApprovedGate(run: Run, step: Step): Gate | null {
  const gate = step.gate === null ? undefined : run.gates.get(step.gate);
  return gate?.status === "approved" || gate?.status === "consumed" ? gate : null;
}

/** True for an undo of a rollback if people approved the act that it undoes, at a gate that showed its compensation. */
export function isCompensationApproved(run: Run, { cause }: Step): boolean {
  if (cause?.by !== "undo" || cause.rollback !== true) return false;
  const act = getStep(run, { step_id: cause.of });
  const gate = lastApprovedGate(run, act);
  return gate?.covers === "compensation" && gate.call.digest === act.call?.digest && !isConfirmation(gate.demand);
}

/** True if the approval is for exactly this call and has not expired. */
export function isApprovalValid({ call: shown, use_by }: Gate, { digest }: Call, now: Instant): boolean {
  return shown.digest === digest && use_by !== null && now <= use_by;
}
