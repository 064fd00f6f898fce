import type { LeanStep } from "../plan/plan.ts";
import type { Event } from "./event.ts";

/** Returns the steps that an event adds to its run. */
export function addedSteps(event: Event): readonly LeanStep[] {
  if (event.type === "run.accepted" || event.type === "run.replanned") return event.plan?.steps ?? NONE;
  return event.type === "step.proposed" ? [event.step] : NONE;
}

const NONE: readonly never[] = [];
