import { ALLOW, type Guard } from "../../core/call/guard.ts";

/**
 * Guard 8: holds an act of a fork if its tool has acted in the original run after the fork and the ledger has no row
 * for its key. The act may be the same with another input, so a person decides.
 */
export const forkActsGuard: Guard = {
  id: "fork_acts",
  judge({ run, step, proposal, effect }) {
    if (effect !== "acts" || proposal.ledger !== null || !run.forked?.acted.includes(step.spec.name)) return ALLOW;
    return {
      kind: "hold",
      rule: "fork_acts",
      reason: `${step.spec.name} has acted in run ${run.forked.run_id} after the point of the fork`,
      demand: { role: null },
    };
  },
};
