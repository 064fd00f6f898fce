import type { Event } from "../event/event.ts";
import type { Run } from "../run/run.ts";
import { isHostAtWork, type Step } from "../run/step.ts";
import type { Instant } from "../values/ids.ts";
import { settleCharges } from "./limit-charges.ts";

/** Ends the calls that a host does itself and that do not act. An act that has begun is ended by the report of its host, or is in doubt. */
export function cancelHostWork(run: Run, at: Instant): readonly Event[] {
  const events: Event[] = [];
  for (const [id] of run.waiting) {
    const step = run.steps.get(run.index.get(id) as number);
    if (isHostAtWork(step) && step.act === null) events.push(cancelledEvent(step, at));
  }
  return events;
}

function cancelledEvent(step: Step, at: Instant): Event {
  const { spec, standing, attempts: attempt } = step;
  const started_at = standing.state === "running" ? standing.started_at : at;
  const charges = settleCharges(step, [], { cost: null, ms: Math.max(0, at - started_at), for: "unknown" });
  const ended = { at, step_id: spec.step_id, attempt, started_at, ...(charges.length > 0 && { charges }) };
  return { type: "step.cancelled", ...ended };
}
