import type { Event } from "../event/event.ts";
import type { RunClosed } from "../event/session.ts";
import { hasLeftAgents, leftActKey } from "../run/branch-acts.ts";
import { subAgentCancelNotices } from "../run/child-run-notices.ts";
import { callKey } from "../run/find-call-step.ts";
import { idleEndAt, idleMsOf } from "../run/idle-run.ts";
import { hasUnfinishedTurn } from "../run/model-steps.ts";
import { findStep, type Run } from "../run/run.ts";
import { startsNoMore } from "../run/starts-no-more.ts";
import { stepPace } from "../run/step.ts";
import { fault } from "../values/fault.ts";
import { askModel } from "./ask-model.ts";
import { cancelHostWork } from "./cancel-host-work.ts";
import type { CommandOf } from "./command.ts";
import { finishedTurns, finishTurns } from "./finished-turns.ts";
import { NO_CHANGE, type PartialDecision } from "./partial-decision.ts";
import { proposedEvents, runClosedFault } from "./proposed-events.ts";

/** Decides a command that only the run of a session takes. */
export function decideOpenRun(
  run: Run,
  command: CommandOf<
    | "propose"
    | "ask_model"
    | "finish_turns"
    | "close"
    | "abandon"
    | "release"
    | "deliver_answer"
    | "delegate"
    | "leave_agent"
    | "inherit_acts"
  >,
): PartialDecision {
  switch (command.type) {
    case "propose":
      return proposeCalls(run, command);
    case "ask_model":
      return askModel(run, command);
    case "finish_turns":
      return finishTurns(run, command);
    case "close":
      return closeRun(run, command);
    case "abandon":
      return abandonRun(run, command);
    case "release":
      return releaseRun(run, command);
    case "deliver_answer":
      return deliverAnswer(run, command);
    case "delegate":
      return delegateStep(run, command);
    case "leave_agent":
      return leaveAgent(run, command);
    case "inherit_acts":
      return inheritActs(run, command);
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

function closeRun(run: Run, { as, principal, reason, now, continues }: CommandOf<"close">): PartialDecision {
  if (!run.open || (continues && hasUnfinishedCalls(run))) return NO_CHANGE;
  return closedEvents(run, {
    type: "run.closed",
    at: now,
    as,
    by: principal.id,
    reason,
    ...(continues && { continues }),
  });
}

/** The engine closes a run whose session is idle. Acts in flight or in doubt go on, as after every close. */
function abandonRun(run: Run, { now }: CommandOf<"abandon">): PartialDecision {
  const end = idleEndAt(run);
  if (end === null || now < end) return NO_CHANGE;
  const reason = `the session was idle for ${idleMsOf(run)} ms`;
  return closedEvents(run, { type: "run.closed", at: now, as: "abandoned", by: "writ", reason });
}

function closedEvents(run: Run, closed: RunClosed & Pick<Event, "at">): PartialDecision {
  const notices = subAgentCancelNotices(run);
  return { events: [notices.length === 0 ? closed : { ...closed, notices }, ...cancelHostWork(run, closed.at)] };
}

/** True if a call of the run runs or waits, or a turn is not finished: the run is not closed because it is full. */
export function hasUnfinishedCalls(run: Run): boolean {
  const { moving, retrying, waiting } = run.paces;
  return moving + retrying + waiting > 0 || hasUnfinishedTurn(run);
}

/** Records that the worker that drives an open run holds it no longer. */
function releaseRun(run: Run, { by, answers, now: at }: CommandOf<"release">): PartialDecision {
  if (!run.open || !run.driven) return NO_CHANGE;
  return { events: [...finishedTurns(run, answers, at), { type: "run.released", at, by }] };
}

/** Records that a client has the answer of a call. A call that was delivered before adds nothing. */
function deliverAnswer(run: Run, { step_id, to, now }: CommandOf<"deliver_answer">): PartialDecision {
  if (run.delivered.has(step_id)) return NO_CHANGE;
  return { events: [{ type: "step.delivered", at: now, step_id, to }] };
}

/** Records the sub-agent of a call before the sub-agent exists, so that a cancellation reaches it. */
function delegateStep(run: Run, { step_id, child, now }: CommandOf<"delegate">): PartialDecision {
  if (hasLeftAgents(run)) return { events: [], need: "left_acts" };
  const step = findStep(run, step_id);
  if (step?.delegated === child) return NO_CHANGE;
  if (run.plan?.atomicity === "plan") {
    const message = `${step_id} is part of an atomic plan, which does not roll back the run of a sub-agent; use a plan without atomicity`;
    return { events: [], refusal: fault("NOT_POSSIBLE", message) };
  }
  const isOver = step === undefined || stepPace(step.standing) === "done" || startsNoMore(run, step);
  if (isOver) return { events: [], refusal: fault("NOT_POSSIBLE", `run ${run.id} has no call ${step_id} in progress`) };
  return { events: [{ type: "step.delegated", at: now, step_id, run_id: child }] };
}

/** Records the acts of a sub-agent that a branch has left, once. */
function leaveAgent(run: Run, { child, acts, now }: CommandOf<"leave_agent">): PartialDecision {
  if (!run.conversation?.leftAgents.has(child)) return NO_CHANGE;
  return { events: [{ type: "run.sub_agent_left", at: now, child, acts }] };
}

/** Records the acts that branches above have left, and that the run does not know yet. */
function inheritActs(run: Run, { acts, now }: CommandOf<"inherit_acts">): PartialDecision {
  if (run.ended !== null) return NO_CHANGE;
  const known = run.conversation?.leftActs;
  const fresh = acts.filter((act) => known?.get(leftActKey(act))?.branch !== act.branch);
  return fresh.length === 0 ? NO_CHANGE : { events: [{ type: "run.acts_left_above", at: now, acts: fresh }] };
}
