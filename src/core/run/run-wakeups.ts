import { nextEscalationAt } from "../approval/approval-demand.ts";
import type { Instant } from "../values/ids.ts";
import { gateVoteTerms } from "./gate-vote-terms.ts";
import { idleEndAt } from "./idle-run.ts";
import { isRollbackDue } from "./rollback-progress.ts";
import type { Gate, Run } from "./run.ts";
import { isReversal, type Step } from "./step.ts";

/**
 * Returns when any worker can continue the run. That is its acceptance time while a step moves, a worker drives it or a
 * notice to another run is undelivered, and otherwise its earliest timer or the end of its idle time. Returns null if
 * the run needs a person, or a worker that meets its requirements (worker-requirements.ts).
 */
export function runDueAt(run: Run): Instant | null {
  const isOver = run.ended !== null || run.parked !== null;
  const isDriven = run.open && run.driven;
  if (run.pendingRunNotices > 0 || (!isOver && (isDriven || run.paces.moving > 0 || isRollbackDue(run))))
    return run.accepted_at;
  return isOver ? null : earlier(nextWakeAt(run), idleEndAt(run));
}

function earlier(some: Instant | null, other: Instant | null): Instant | null {
  if (some === null || other === null) return some ?? other;
  return some < other ? some : other;
}

/** Returns whether a worker may still have something to do for the run: a step, or a notice that is not delivered. */
export function needsWorker({ ended, notices }: Run): boolean {
  return ended === null || notices.size > 0;
}

/** Returns the earliest timer of the run. A parked run has none. */
export function nextWakeAt(run: Run): Instant | null {
  return run.parked === null ? (run.wakeups.first?.at ?? null) : null;
}

/** Returns when a waiting step is due, or null if no timer ends its wait. */
export function stepWakeAt(run: Run, step: Step): Instant | null {
  const at = ownWakeAt(run, step);
  return endsAtDeadline(run, step) ? earlier(at, run.deadline_at) : at;
}

/** True if the deadline ends the wait of the step: an atomic plan that waits is rolled back then. */
function endsAtDeadline(run: Run, step: Step): boolean {
  const { state } = step.standing;
  const waits = state === "waiting" || state === "waiting_approval" || state === "failed_retryable";
  return run.plan?.atomicity === "plan" && run.deadline_at !== null && waits && !isReversal(step);
}

/** True if the deadline of an atomic plan has passed while the step waits. */
export function isOverdue(run: Run, step: Step, now: Instant): boolean {
  return endsAtDeadline(run, step) && now >= (run.deadline_at as Instant);
}

function ownWakeAt(run: Run, { standing }: Step): Instant | null {
  switch (standing.state) {
    case "running":
      return standing.until ?? null;
    case "failed_retryable":
      return standing.retry_at;
    case "waiting_approval":
      return gateDueAt(run, run.gates.get(standing.gate_id) as Gate);
    case "waiting":
      return standing.on.for === "tool" ? null : standing.on.until;
    case "in_doubt":
      return standing.doubt.next.do === "look_again" ? standing.doubt.next.at : null;
    default:
      return null;
  }
}

/** Returns the time at which an undecided gate escalates next or expires. */
function gateDueAt(run: Run, gate: Gate): Instant {
  const escalates = nextEscalationAt(gateVoteTerms(run, gate), gate.escalated_at ?? gate.opened_at);
  return escalates === null ? gate.expires_at : (Math.min(escalates, gate.expires_at) as Instant);
}
