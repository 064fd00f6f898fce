import type { Event } from "../event/event.ts";
import { leanStep } from "../plan/plan.ts";
import type { Run } from "../run/run.ts";
import { type Fault, fault } from "../values/fault.ts";
import type { Instant } from "../values/ids.ts";
import type { ProposedCall } from "./command.ts";

/**
 * Returns the events of a proposed call, also of a refused one. Its failure is `skip` and its rejection `continue`, so
 * that it does not end other calls of the run.
 */
export function proposedEvents({ step, pin, cause, refused }: ProposedCall, at: Instant): Event[] {
  const { step_id } = step;
  const alone = leanStep({ ...step, on_failure: "skip", on_rejected: "continue" });
  const proposed: Event = { type: "step.proposed", at, step_id, step: alone, pin, cause };
  if (refused === null) return [proposed];
  return [proposed, { type: "step.rejected", at, step_id, rule: "call", fault: refused }];
}

export function runClosedFault({ id }: Pick<Run, "id">): Fault {
  return fault("RUN_CLOSED", `run ${id} takes no more calls; open the session again`);
}
