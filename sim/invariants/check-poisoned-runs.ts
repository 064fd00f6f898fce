import type { Event } from "../../src/core/event/event.ts";
import { findStep, type Run } from "../../src/core/run/run.ts";
import type { ObservedEvent } from "../journal-observer.ts";

/** Copied from the design, so that the check does not depend on the engine. */
const MAX_LOSSES = 3;

/** Events of progress or of a decision by a person, which reset the count of losses. */
const progressEvents: readonly string[] = [
  "run.accepted",
  "run.closed",
  "run.resumed",
  "run.ended",
  "cancel.requested",
  "step.proposed",
  "step.succeeded",
  "step.failed",
  "step.cancelled",
  "step.rejected",
  "step.parked",
  "step.compensating",
  "step.compensated",
  "step.uncompensated",
  "gate.opened",
  "gate.approved",
  "gate.endorsed",
  "gate.amended",
  "gate.rejected",
  "gate.expired",
  "gate.closed",
];

/** I15: a run that MAX_LOSSES workers lost in turn is parked, only then, and does nothing until a person resumes it. */
export function checkPoisonedRuns({ sim, observedRun, before, event }: ObservedEvent): void {
  const settled = event.type === "step.settled" ? event.settled.as : null;
  if (progressEvents.includes(event.type) || settled === "happened" || settled === "given_up") observedRun.losses = 0;
  if (event.type === "run.taken") {
    observedRun.losses += 1;
    if (event.by === event.from) sim.violate(`I15: ${before.id} was taken by ${event.by} from itself`);
    if (observedRun.losses > MAX_LOSSES)
      sim.violate(`I15: ${before.id} was lost ${observedRun.losses} times and not parked`);
  }
  if (event.type === "run.poisoned" && observedRun.losses !== MAX_LOSSES)
    sim.violate(`I15: ${before.id} was parked after ${observedRun.losses} losses`);
  const idle = before.parked === null || before.ended !== null;
  if (
    !idle &&
    ["step.started", "step.succeeded", "step.failed"].includes(event.type) &&
    !isExternalSignal(before, event)
  )
    sim.violate(`I15: ${before.id} is parked, but has a new ${event.type}`);
}

/** True if the event ends a wait, which a signal or the end of a child run does from outside. */
function isExternalSignal(before: Run, event: Event): boolean {
  return "step_id" in event && findStep(before, event.step_id)?.standing.state === "waiting";
}
