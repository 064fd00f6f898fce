import { unreachable } from "../core/assert.ts";
import { type Mode, strictest } from "../core/effect.ts";
import { fault } from "../core/fault.ts";
import { type Admission, ALLOW, type Guard, type Verdict } from "../core/guard.ts";

/** Guard 6: how far the run may go by itself. An undo was asked for by a person, who is the approval. */
export const modeAllows: Guard = {
  id: "mode",
  judge(admission) {
    const { step, effect } = admission;
    if (effect !== "acts" || step.cause?.by === "undo") return ALLOW;
    const mode = modeOf(admission);
    switch (mode) {
      case "dry_run":
      case "draft_only": {
        const message = `${step.spec.step_id} acts on the world and the run is ${mode}; submit it as human_gated to have a person decide`;
        return { kind: "refuse", rule: "mode", fault: fault("MODE_FORBIDS", message) };
      }
      case "human_gated":
        return isTrusted(admission) ? ALLOW : hold(`${step.spec.name} acts on the world and the run is human_gated`);
      case "auto_exec": {
        const risky = admission.proposal.tool?.risk === "high" && !isTrusted(admission);
        return risky ? hold(`${step.spec.name} is of high risk, and nobody has said that it may act by itself`) : ALLOW;
      }
      default:
        return unreachable(mode);
    }
  },
};

/** The stricter of what the run was accepted with and what is in force now. */
export function modeOf({ run, policy }: Admission): Mode {
  return policy?.mode == null ? run.mode : strictest(run.mode, policy.mode);
}

/** Said by those who answer for the tenant, never by the plan or the model. */
function isTrusted({ proposal, policy }: Admission): boolean {
  return (
    proposal.trusted || (proposal.tool !== null && policy?.trusts(proposal.tool, proposal.record?.earned ?? 0) === true)
  );
}

function hold(reason: string): Verdict {
  return { kind: "hold", rule: "mode", reason, demand: { role: null } };
}
