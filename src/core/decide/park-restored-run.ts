import type { Event } from "../event/event.ts";
import type { Run } from "../run/run.ts";
import { CALL_WITHIN_MS, type Step } from "../run/step.ts";
import { fault } from "../values/fault.ts";
import type { Instant } from "../values/ids.ts";
import type { CommandOf } from "./command.ts";
import { doubtExits, outcomeUnknownFault } from "./end-attempt.ts";
import { NO_CHANGE, type PartialDecision } from "./partial-decision.ts";
import { actVersionAfter } from "./settle-doubt.ts";

/**
 * Parks a run that was in a restored backup. An act that was running at the backup is in doubt: its send marker proves
 * nothing, because the call may have been sent after the backup.
 */
export function parkRestoredRun(
  run: Run,
  { principal, reason, restoration, now: at }: CommandOf<"park">,
): PartialDecision {
  if (run.restored?.incarnation === restoration.incarnation) return NO_CHANGE;
  const doubts = [...run.steps].flatMap((step) => doubtRunningAct(step, at));
  return { events: [{ type: "run.restored", at, by: principal.id, reason, ...restoration }, ...doubts] };
}

/** Without the facts of its tool: the worker that continues the run adds its verifier. */
function doubtRunningAct(step: Step, at: Instant): readonly Event[] {
  const { act, standing, spec } = step;
  if (standing.state !== "running" || act === null) return [];
  const cause = fault(
    "OUTCOME_UNKNOWN",
    "it was running at the backup that was restored; what followed is not on record",
  );
  const exits = doubtExits(step, null, act.sent_at, (at + CALL_WITHIN_MS) as Instant);
  const why = outcomeUnknownFault(step, cause);
  const { step_id } = spec;
  return [
    { type: "step.doubted", at, step_id, attempt: act.attempt, fault: why, ledger: actVersionAfter(step), exits },
  ];
}
