import type { Principal } from "../approval/principal.ts";
import { getStep, type Run } from "./run.ts";
import type { Step } from "./step.ts";

/** Returns the principal whose rights a step is judged by: that of its proposal, or else that of the run. */
export function stepPrincipal(run: Run, { cause }: Step): Principal {
  if (cause?.by === "errand") return stepPrincipal(run, getStep(run, { step_id: cause.of }));
  return (cause?.by === "agent" ? cause.principal : undefined) ?? run.principal;
}

/** Returns the principal who requested a step: for an undo, the one who requested the undo; else that of the run. */
export function requesterOf(run: Run, { cause }: Step): string {
  return cause?.by === "undo" ? cause.asked_by : run.principal.id;
}
