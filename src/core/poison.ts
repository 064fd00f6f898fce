import type { Event, EventType } from "./event.ts";
import type { Instant } from "./id.ts";

/** A run that is parked, and since when. */
export interface Poison {
  readonly since: Instant;
}

/** What says no more than that someone took the run up, or that a call began, was cut off, or may be made again. */
const standstill: ReadonlySet<EventType> = new Set<EventType>([
  "run.taken",
  "run.poisoned",
  "budget.alerted",
  "notice.delivered",
  "gate.contested",
  "gate.escalated",
  "step.started",
  "step.doubted",
  "step.probed",
  "step.readied",
  "step.superseded",
  "evidence.kept",
]);

/** Whether a run has come further by this fact. If not, whoever took it up has nothing to show for it yet. */
export function isProgress(event: Event): boolean {
  if (event.type === "step.settled") return event.settled.as === "happened" || event.settled.as === "given_up";
  return !standstill.has(event.type);
}
