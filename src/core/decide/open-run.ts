import type { Event } from "../event/event.ts";
import { leanStep } from "../plan/plan.ts";
import { callKey } from "../run/call-name.ts";
import { subAgentCancelNotices } from "../run/child-run.ts";
import { findStep, type Run, startsNoCalls } from "../run/run.ts";
import { stepPace } from "../run/step.ts";
import { type Fault, fault } from "../values/fault.ts";
import { cancelHostWork } from "./cancel-host-work.ts";
import type { CommandOf, ProposedCall } from "./command.ts";
import { NO_CHANGE, type PartialDecision } from "./partial-decision.ts";

/** Decides a command that only the run of a session takes. */
export function decideOpenRun(
  run: Run,
  command: CommandOf<"propose" | "close" | "release" | "deliver_answer" | "delegate">,
): PartialDecision {
  switch (command.type) {
    case "propose":
      return proposeCalls(run, command);
    case "close":
      return closeRun(run, command);
    case "release":
      return releaseRun(run, command);
    case "deliver_answer":
      return deliverAnswer(run, command);
    case "delegate":
      return delegateStep(run, command);
  }
}

/**
 * Adds the calls that an agent proposes as steps of an open run. A call that the run has under the same name adds
 * nothing, so that a loop that was killed can propose its calls again. Another call under that name is refused on record.
 */
function proposeCalls(run: Run, { calls, now }: CommandOf<"propose">): PartialDecision {
  const names = new Set<string>();
  const events: Event[] = [];
  for (const proposed of calls) {
    const { call, reuses } = proposed.cause;
    const key = call === undefined ? null : callKey(call, reuses);
    if (key === null ? run.index.has(proposed.step.step_id) : run.calls.has(key) || names.has(key)) continue;
    if (key !== null) names.add(key);
    events.push(...proposedEvents(proposed, now));
  }
  if (events.length === 0) return NO_CHANGE;
  if (!run.open) return { events: [], refusal: runClosedFault(run) };
  return { events };
}

/** No call ends its siblings: each is its own request. A call that cannot be a step is on record with its refusal. */
function proposedEvents({ step, pin, cause, refused }: ProposedCall, at: CommandOf<"propose">["now"]): Event[] {
  const { step_id } = step;
  const alone = leanStep({ ...step, on_failure: "skip", on_rejected: "continue" });
  const proposed: Event = { type: "step.proposed", at, step_id, step: alone, pin, cause };
  if (refused === null) return [proposed];
  return [proposed, { type: "step.rejected", at, step_id, rule: "call", fault: refused }];
}

export function runClosedFault({ id }: Pick<Run, "id">): Fault {
  return fault("RUN_CLOSED", `run ${id} takes no more calls; open the session again`);
}

function closeRun(run: Run, { as, principal, reason, now, continues }: CommandOf<"close">): PartialDecision {
  if (!run.open || (continues && hasUnfinishedCalls(run))) return NO_CHANGE;
  const notices = subAgentCancelNotices(run);
  const closed = {
    type: "run.closed",
    at: now,
    as,
    by: principal.id,
    reason,
    ...(continues && { continues }),
  } as const;
  return { events: [notices.length === 0 ? closed : { ...closed, notices }, ...cancelHostWork(run, now)] };
}

/** True if a call of the run runs or waits: the run is not closed because it is full. */
export function hasUnfinishedCalls({ paces: { moving, retrying, waiting } }: Pick<Run, "paces">): boolean {
  return moving + retrying + waiting > 0;
}

/** Records that the worker that drives an open run holds it no longer. */
function releaseRun(run: Run, { by, now }: CommandOf<"release">): PartialDecision {
  return run.open && run.driven ? { events: [{ type: "run.released", at: now, by }] } : NO_CHANGE;
}

/** Records that a client has the answer of a call. A call that was delivered before adds nothing. */
function deliverAnswer(run: Run, { step_id, to, now }: CommandOf<"deliver_answer">): PartialDecision {
  if (run.delivered.has(step_id)) return NO_CHANGE;
  return { events: [{ type: "step.delivered", at: now, step_id, to }] };
}

/** Records the sub-agent of a call before the sub-agent exists, so that a cancellation reaches it. */
function delegateStep(run: Run, { step_id, child, now }: CommandOf<"delegate">): PartialDecision {
  const step = findStep(run, step_id);
  if (step?.delegated === child) return NO_CHANGE;
  const isOver = step === undefined || stepPace(step.standing) === "done" || startsNoCalls(run);
  if (isOver) return { events: [], refusal: fault("NOT_POSSIBLE", `run ${run.id} has no call ${step_id} in progress`) };
  return { events: [{ type: "step.delegated", at: now, step_id, run_id: child }] };
}
