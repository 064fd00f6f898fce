import type { UndoneAct } from "./event.ts";
import { type Run, stepOf } from "./run.ts";
import { type Act, isUndo, type Step, undoId } from "./step.ts";

/** The acts of a run that happened, or may have, and how it stands with undoing each; those done last come first. */
export function undoneActs(run: Run, reversible: (tool: string) => boolean): readonly UndoneAct[] {
  return actsOf(run).map((step): UndoneAct => {
    const { step_id, name: tool } = step.spec;
    return { step_id, tool, ...howUndone(run, step, reversible(tool)) };
  });
}

/** The latest first: what came later may stand on what came before. */
export function actsOf(run: Run): readonly (Step & { readonly act: Act })[] {
  const acts = [...run.steps].filter((step): step is Step & { readonly act: Act } => hasActed(step));
  return acts.sort((one, two) => two.act.started_at - one.act.started_at || two.index - one.index);
}

function hasActed(step: Step): boolean {
  return step.act !== null && !isUndo(step) && step.act.state !== "not_done" && step.act.state !== "absent";
}

function howUndone(
  run: Run,
  step: Step & { readonly act: Act },
  reversible: boolean,
): Pick<UndoneAct, "undone" | "why"> {
  const { standing, act } = step;
  if (standing.state === "compensated") return { undone: standing.confirmed ? "confirmed" : "unconfirmed", why: null };
  if (standing.state === "compensation_failed") return { undone: "failed", why: standing.fault.message };
  if (standing.state === "compensating") return underWay(stepOf(run, { step_id: undoId(step, act.generation) }));
  if (!reversible) return { undone: "irreversible", why: null };
  return { undone: "not_attempted", why: act.state === "committed" ? null : `it is ${act.state}` };
}

/** It may have happened, or waits for a person or a time. */
function underWay({ standing: { state } }: Step): Pick<UndoneAct, "undone" | "why"> {
  return { undone: state === "in_doubt" ? "unconfirmed" : "not_attempted", why: `its undoing is ${state}` };
}
