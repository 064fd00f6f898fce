import { ALLOW, type Guard } from "../core/guard.ts";

/**
 * Guard 8: a fork repeats what its origin did, as far as the ledger can tell. What a tool did after the fork, and that the ledger
 * does not know under this key, may be the same act in other words: a person says.
 */
export const forkActs: Guard = {
  id: "fork_acts",
  judge({ run, step, proposal, effect }) {
    if (effect !== "acts" || proposal.ledger !== null || !run.forked?.acted.includes(step.spec.name)) return ALLOW;
    return {
      kind: "hold",
      rule: "fork_acts",
      reason: `${step.spec.name} has acted in run ${run.forked.run_id} after the point that this one was forked from`,
      demand: { role: null },
    };
  },
};
