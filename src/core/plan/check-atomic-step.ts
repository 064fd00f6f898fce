import { pointerTo } from "../json/json-pointer.ts";
import type { PlanStep } from "./plan.ts";
import type { PlanContext } from "./plan-context.ts";
import { stepKinds } from "./step-kinds.ts";

/**
 * Checks a step of an atomic plan. A child run is a run of its own, so the rollback of its parent does not reach it. An
 * act without a compensation is permitted: it may be the last step.
 */
export function checkAtomicStep({ step_id, kind, name, effect }: PlanStep, at: number, context: PlanContext): void {
  const place = pointerTo("/steps", at);
  if (stepKinds[kind].startsRun)
    context.reasons.add(
      pointerTo(place, "kind"),
      `${kind} starts a run of its own, which an atomic plan does not roll back; put its steps into this plan`,
    );
  const tool = context.tools.get(name);
  if (kind === "operator" && effect === "acts" && tool?.compensate === null)
    context.warnings.add(
      pointerTo(place, "name"),
      `${name} declares no compensation: if the plan aborts after ${step_id}, this act remains`,
    );
}
