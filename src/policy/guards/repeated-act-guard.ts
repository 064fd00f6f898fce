import { ALLOW, type Guard } from "../../core/call/guard.ts";
import { branchActsOf, leftActKey } from "../../core/run/branch-acts.ts";
import type { Run, Step } from "../../core/run/run.ts";
import { isUndoStep } from "../../core/run/step.ts";

/**
 * Guard 8: holds an act whose tool has acted after the point of a fork, in a branch that the conversation has left, or
 * in a replaced plan, if the ledger has no row for its key. The act may be the same with another input, so a person decides.
 */
export const repeatedActGuard: Guard = {
  id: "fork_acts",
  judge({ run, step, proposal, effect }) {
    if (effect !== "acts" || proposal.ledger !== null) return ALLOW;
    // A declared identity says that another key is another act. A later plan may use it; a conversation may reword it.
    const isKnownOther = run.replanning !== null && proposal.call?.keyed_by === "identity";
    const reason = forkReason(run, step) ?? (isKnownOther ? null : branchReason(run, step));
    return reason === null ? ALLOW : { kind: "hold", rule: "fork_acts", reason, demand: { role: null } };
  },
};

function forkReason({ forked }: Run, { spec }: Step): string | null {
  return forked?.acted.includes(spec.name)
    ? `${spec.name} has acted in run ${forked.run_id} after the point of the fork`
    : null;
}

const NAMED_MAX = 20;

function branchReason(run: Run, step: Step): string | null {
  const { step_id, name } = step.spec;
  const acts = isUndoStep(step)
    ? []
    : branchActsOf(run, name).filter((act) => act.run_id !== run.id || act.step_id !== step_id);
  if (acts.length === 0) return null;
  const ids = acts
    .slice(-NAMED_MAX)
    .map((act) => `${act.run_id === run.id ? act.step_id : leftActKey(act)} (${act.state})`)
    .join(", ");
  const where = run.plan === null ? "in a branch that the conversation has left" : "by a plan that was replaced";
  return `${name} was called ${where}: ${ids}; an approval makes the call, or says which of them it is`;
}
