import type { Event } from "../../src/core/event.ts";
import { findStep, type Run } from "../../src/core/run.ts";
import type { Fact } from "../record.ts";

/** As the design says it; told again here so that the law is not its own judge. */
const MOST_LOST = 3;

/** What brings a run further, or is a person's word that it may go on. */
const further: readonly string[] = [
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

/** I15: a run that was lost by one worker after the other is parked, for no other reason, and does nothing until a person resumes it. */
export function judgePoison({ scene, kept, before, event }: Fact): void {
  const settled = event.type === "step.settled" ? event.settled.as : null;
  if (further.includes(event.type) || settled === "happened" || settled === "given_up") kept.losses = 0;
  if (event.type === "run.taken") {
    kept.losses += 1;
    if (event.by === event.from) scene.violate(`I15: ${before.id} was taken by ${event.by} from itself`);
    if (kept.losses > MOST_LOST) scene.violate(`I15: ${before.id} was lost ${kept.losses} times and goes on`);
  }
  if (event.type === "run.poisoned" && kept.losses !== MOST_LOST)
    scene.violate(`I15: ${before.id} was parked, though it was lost ${kept.losses} times`);
  const idle = before.poison === null || before.ended !== null;
  if (!idle && ["step.started", "step.succeeded", "step.failed"].includes(event.type) && !isWord(before, event))
    scene.violate(`I15: ${before.id} is parked, and then came ${event.type}`);
}

/** What a step waits for is said by others: a signal, or the end of a run that it asked for. */
function isWord(before: Run, event: Event): boolean {
  return "step_id" in event && findStep(before, event.step_id)?.standing.state === "waiting";
}
