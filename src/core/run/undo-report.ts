import type { UndoneAct } from "../event/undone-act.ts";
import { getStep, type Run } from "./run.ts";
import { type Act, isUndoStep, type Step, undoStepId } from "./step.ts";

/** Reports for each act that happened or may have happened whether it is undone, the latest act first. */
export function undoReport(run: Run, reversible: (tool: string) => boolean): readonly UndoneAct[] {
  return actsLatestFirst(run).map((step): UndoneAct => {
    const { step_id, name: tool } = step.spec;
    return { step_id, tool, ...undoStatus(run, step, reversible(tool)) };
  });
}

/** Lists the acts of a run, the latest first, because a later act may depend on an earlier one. */
export function actsLatestFirst(run: Run): readonly (Step & { readonly act: Act })[] {
  const acts = [...run.steps].filter((step): step is Step & { readonly act: Act } => hasActed(step));
  return acts.sort((one, two) => two.act.started_at - one.act.started_at || two.index - one.index);
}

function hasActed(step: Step): boolean {
  return step.act !== null && !isUndoStep(step) && step.act.state !== "not_done" && step.act.state !== "absent";
}

function undoStatus(
  run: Run,
  step: Step & { readonly act: Act },
  reversible: boolean,
): Pick<UndoneAct, "undone" | "why"> {
  const { standing, act } = step;
  if (standing.state === "compensated") return { undone: standing.confirmed ? "confirmed" : "unconfirmed", why: null };
  if (standing.state === "compensation_failed") return { undone: "failed", why: standing.fault.message };
  if (standing.state === "compensating")
    return pendingUndoStatus(getStep(run, { step_id: undoStepId(step, act.generation) }));
  if (!reversible) return { undone: "irreversible", why: null };
  return { undone: "not_attempted", why: act.state === "committed" ? null : `the act is ${act.state}` };
}

function pendingUndoStatus({ standing: { state } }: Step): Pick<UndoneAct, "undone" | "why"> {
  return { undone: state === "in_doubt" ? "unconfirmed" : "not_attempted", why: `its undo is ${state}` };
}
