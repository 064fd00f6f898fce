import { type Admission, ALLOW, type Guard, type Verdict } from "../../core/call/guard.ts";
import { isCompensationApproved } from "../../core/decide/find-approval.ts";
import { isRollbackUndo, isUndoStep } from "../../core/run/step.ts";
import { unreachable } from "../../core/values/assert.ts";
import { type Mode, stricterMode } from "../../core/values/effect.ts";
import { fault } from "../../core/values/fault.ts";

/**
 * Guard 6: applies the mode of the run to acts, and to writes of high risk. An undo was requested by a person, which
 * counts as approval. An undo of a rollback was not: it is judged like any act, unless the approval of its act covers it.
 */
export const modeGuard: Guard = {
  id: "mode",
  judge(admission) {
    const { step, effect } = admission;
    if (step.cause?.by === "rollback" || isUndoApproved(admission)) return ALLOW;
    const mode = effectiveMode(admission);
    if (effect === "writes" && (mode === "human_gated" || mode === "auto_exec")) return holdIfRisky(admission);
    if (effect !== "acts") return ALLOW;
    switch (mode) {
      case "dry_run":
      case "draft_only": {
        const message = `${step.spec.step_id} acts on the world and the run is ${mode}; submit it as human_gated so that a person decides`;
        return { kind: "refuse", rule: "mode", fault: fault("MODE_FORBIDS", message) };
      }
      case "human_gated":
        return isTrusted(admission)
          ? ALLOW
          : holdForMode(
              `${step.spec.name} acts on the world, and a person approves the acts of this run (human_gated)`,
            );
      case "auto_exec":
        return holdIfRisky(admission);
      default:
        return unreachable(mode);
    }
  },
};

function isUndoApproved({ run, step }: Admission): boolean {
  return isUndoStep(step) && (!isRollbackUndo(step) || isCompensationApproved(run, step));
}

function holdIfRisky(admission: Admission): Verdict {
  const isRisky = admission.proposal.tool?.risk === "high" && !isTrusted(admission);
  return isRisky ? holdForMode(`${admission.step.spec.name} has a high risk, and no policy trusts it`) : ALLOW;
}

/** Returns the stricter of the mode of the run and the mode of the policy in force. */
export function effectiveMode({ run, policy }: Admission): Mode {
  return policy?.mode == null ? run.mode : stricterMode(run.mode, policy.mode);
}

/** True if a setting or policy of the tenant trusts the tool. A plan or a model cannot grant trust. */
function isTrusted({ proposal, policy }: Admission): boolean {
  return (
    proposal.trusted || (proposal.tool !== null && policy?.trusts(proposal.tool, proposal.record?.earned ?? 0) === true)
  );
}

function holdForMode(reason: string): Verdict {
  return { kind: "hold", rule: "mode", reason, demand: { role: null } };
}
