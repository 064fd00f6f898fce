import { unreachable } from "../core/assert.ts";
import { fault } from "../core/fault.ts";
import { ALLOW, type Guard } from "../core/guard.ts";

/** Guard 6: how far the run may go by itself. An undo was asked for by a person, who is the approval. */
export const modeAllows: Guard = {
  id: "mode",
  judge({ run, step, proposal, effect }) {
    if (effect !== "acts" || step.cause?.by === "undo") return ALLOW;
    switch (run.mode) {
      case "dry_run":
      case "draft_only": {
        const message = `${step.spec.step_id} acts on the world and the run is ${run.mode}; submit it as human_gated to have a person decide`;
        return { kind: "refuse", rule: "mode", fault: fault("MODE_FORBIDS", message) };
      }
      case "human_gated": {
        if (proposal.trusted) return ALLOW;
        const reason = `${step.spec.name} acts on the world and the run is human_gated`;
        return { kind: "hold", rule: "mode", reason, demand: { role: null } };
      }
      case "auto_exec":
        return ALLOW;
      default:
        return unreachable(run.mode);
    }
  },
};
