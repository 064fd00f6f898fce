import type { Rules } from "../call/guard.ts";
import type { EndStatus, Event } from "../event/event.ts";
import { evolve } from "../evolve/evolve.ts";
import { childRunReport } from "../run/child-run-notices.ts";
import { isReplaced, isReplanStep } from "../run/plan-in-force.ts";
import { isRollbackUnfinished } from "../run/rollback-progress.ts";
import { getStep, type Run } from "../run/run.ts";
import { isReversal, mayBeSkipped } from "../run/step.ts";
import type { Check } from "../store/store.ts";
import { assert, unreachable } from "../values/assert.ts";
import type { Fault } from "../values/fault.ts";
import type { GateId, Instant } from "../values/ids.ts";
import { decideAttemptRestore } from "./attempt-restore.ts";
import type { Command, CommandOf, Grant } from "./command.ts";
import { decideHeldCall } from "./decide-gate.ts";
import { decideOpenRun } from "./decide-open-run.ts";
import { endAttempt, uncompensatedEvent } from "./end-attempt.ts";
import { parkRestoredRun } from "./park-restored-run.ts";
import type { MissingFact, PartialDecision } from "./partial-decision.ts";
import { recoverRun } from "./recover-run.ts";
import { recordVerification } from "./reliance-on-acts.ts";
import { replanEvents } from "./replan-run.ts";
import { rollbackEvents } from "./rollback-events.ts";
import {
  acceptRun,
  alertBudget,
  cancelRun,
  recordUndo,
  removeNotices,
  restoreState,
  resumeRun,
  wakeHaltedSteps,
} from "./run-lifecycle.ts";
import { resolveDoubt, settleDoubt, supersedeAct } from "./settle-doubt.ts";
import { startStep } from "./start-step.ts";
import { receiveSignal } from "./wait-step.ts";

export interface Decision {
  readonly events: readonly Event[];
  readonly after: Run;
  /** Indices of the steps that these events made ready. */
  readonly fresh: readonly number[];
  readonly checks: readonly Check[];
  readonly grant: Grant | null;
  readonly refusal: Fault | null;
  readonly need: MissingFact | null;
}

/**
 * Decides a command on a run: returns the events that follow, the conditions of their append, and the run after them.
 * Pure: equal arguments give equal decisions. A refusal is a fact, so it is an event. An impossible state is a bug, so
 * it is an assertion.
 */
export function decide(run: Run, command: Command, rules: Rules): Decision {
  assertCommandFits(run, command);
  const decision = decideCommand(run, command, rules);
  const { events, after, fresh } =
    decision.events.length === 0
      ? { events: NONE, after: run, fresh: NONE }
      : applyEvents(run, decision.events, command.now);
  return {
    events,
    after,
    fresh,
    checks: decision.checks ?? NONE,
    grant: decision.grant ?? null,
    refusal: decision.refusal ?? null,
    need: decision.need ?? null,
  };
}

const NONE: readonly never[] = [];

/** Applies the decided events, and the events that follow from them at once. */
function applyEvents(run: Run, decided: readonly Event[], at: Instant): Pick<Decision, "events" | "after" | "fresh"> {
  const sequence = new EventSequence(run, decided);
  for (const event of refusedUndoEvents(decided, sequence.after, at)) sequence.add(event);
  // A gate is closed when its step no longer waits for it.
  for (let next = 0; next < sequence.abandonedGates.length; next += 1) {
    const gate_id = sequence.abandonedGates[next] as GateId;
    sequence.add({ type: "gate.closed", at, gate_id, reason: "the step no longer waits" });
  }
  addRollback(sequence, at);
  if (isRunOver(sequence.after)) {
    const status = endStatus(sequence.after);
    const next = replanEvents(sequence.after, status, at);
    for (const event of next.length > 0 ? next : [runEndedEvent(sequence.after, status, at)]) sequence.add(event);
  }
  return sequence;
}

function addRollback(sequence: EventSequence, at: Instant): void {
  for (;;) {
    const more = rollbackEvents(sequence.after, at, sequence.events);
    if (more.length === 0) return;
    for (const event of more) sequence.add(event);
  }
}

/** A list of events and the run after them. */
class EventSequence {
  events: readonly Event[];
  /** A copy of the list, once an event is added to it. */
  #added: Event[] | null = null;
  fresh: readonly number[] = NONE;
  abandonedGates: readonly GateId[] = NONE;
  after: Run;

  constructor(before: Run, decided: readonly Event[]) {
    this.after = before;
    this.events = decided;
    for (const event of decided) this.#apply(event);
  }

  /** Adds an event that follows from the decided ones. Most decisions have none, so their list is not copied. */
  add(event: Event): void {
    this.#added ??= [...this.events];
    this.#added.push(event);
    this.events = this.#added;
    this.#apply(event);
  }

  #apply(event: Event): void {
    this.after = evolve(this.after, event);
    const { fresh, abandonedGates } = this.after;
    if (fresh.length > 0) this.fresh = this.fresh.length === 0 ? fresh : [...this.fresh, ...fresh];
    if (abandonedGates.length > 0) this.abandonedGates = [...this.abandonedGates, ...abandonedGates];
  }
}

function assertCommandFits(run: Run, command: Command): void {
  assert(command.type === "accept" || run.position > 0, "only an accepted run receives commands");
  // The store looks a run up by the tenant of the principal, so no principal reaches the run of another tenant.
  assert(!("principal" in command) || command.principal.tenant === run.tenant, "a run is commanded by its own tenant");
}

function decideCommand(run: Run, command: Command, rules: Rules): PartialDecision {
  switch (command.type) {
    case "accept":
      return acceptRun(run, command);
    case "propose":
    case "ask_model":
    case "finish_turns":
    case "close":
    case "abandon":
    case "release":
    case "deliver_answer":
    case "delegate":
    case "leave_agent":
    case "inherit_acts":
      return decideOpenRun(run, command);
    case "start":
      return startStep(run, command, rules);
    case "end":
      return endAttempt(run, command);
    case "recover":
      return recoverRun(run, command);
    case "settle":
      return settleDoubt(run, command);
    case "resolve":
      return resolveDoubt(run, command);
    case "approve":
    case "reject":
    case "expire":
      return decideHeldCall(run, command);
    case "supersede":
      return supersedeAct(run, command);
    case "cancel":
      return cancelRun(run, command);
    case "tell_undone":
      return recordUndo(command);
    case "verify":
      return recordVerification(run, command);
    case "wake":
      return wakeHaltedSteps(run, command);
    case "roll_back": // The next undo could not share the append of its act.
      return { events: rollbackEvents(run, command.now, NONE) };
    case "park":
      return parkRestoredRun(run, command);
    case "resume":
      return resumeRun(run, command);
    case "restoring":
    case "restored":
    case "unrestorable":
      return decideAttemptRestore(run, command);
    case "restore":
      return restoreState(run, command);
    case "alert":
      return alertBudget(run, command);
    default:
      return decideMessage(run, command);
  }
}

function decideMessage(run: Run, command: CommandOf<"deliver" | "withdraw" | "signal">): PartialDecision {
  switch (command.type) {
    case "deliver":
    case "withdraw":
      return removeNotices(run, command);
    case "signal":
      return receiveSignal(run, command);
    default:
      return unreachable(command);
  }
}

/** Returns the events for the acts of rejected undos: each act remains in effect. */
function refusedUndoEvents(events: readonly Event[], after: Run, at: Instant): readonly Event[] {
  const more: Event[] = [];
  for (const event of events) {
    const refused = "gate_id" in event ? after.gates.get(event.gate_id) : event.type === "step.rejected" && event;
    const undo = refused ? getStep(after, refused) : null;
    if (undo?.cause?.by !== "undo" || undo.standing.state !== "rejected") continue;
    more.push(uncompensatedEvent(after, undo.cause.of, undo.standing.fault, at));
  }
  return more;
}

function isRunOver(run: Run): boolean {
  const { moving, retrying, waiting } = run.paces;
  if (run.ended !== null || run.open || moving + retrying + waiting > 0) return false;
  if (isRollbackUnfinished(run)) return false;
  assert(run.paces.blocked === 0, "a blocked step has a dependency that can still end");
  return true;
}

/** A child run reports its end to its parent step. */
function runEndedEvent(run: Run, status: EndStatus, at: Instant): Event {
  // A sub-agent answers its caller, which runs its call.
  const report =
    run.parent === null || run.opened !== null ? {} : { notices: [childRunReport(run, run.parent, status)] };
  return {
    type: "run.ended",
    at,
    status,
    ...(status === "failed" && run.closed === null && wasRejected(run) && { as: "rejected" }),
    ...report,
  };
}

/** True if the run was refused, or all its calls were: nothing ran. */
function wasRejected(run: Run): boolean {
  if (run.recordOf?.of === "refusal") return true;
  let rejected = 0;
  for (const step of run.steps) {
    if (isReversal(step) || (step.standing.state === "skipped" && step.attempts === 0)) continue;
    if (step.standing.state !== "rejected" || step.attempts > 0) return false;
    rejected += 1;
  }
  return rejected > 0;
}

function endStatus(run: Run): EndStatus {
  if (run.cancel !== null) return "cancelled";
  if (run.recordOf?.of === "refusal") return "failed";
  if (run.rollback !== null) return "failed";
  if (run.closed !== null) return run.closed.as; // The agent may have recovered from failed and refused calls.
  let [requested, succeeded] = [0, 0];
  for (const step of run.steps) {
    const isExcused = step.standing.state === "skipped" && mayBeSkipped(step);
    if (isReversal(step) || isReplanStep(step) || isReplaced(run, step) || isExcused) continue;
    requested += 1;
    if (step.standing.state === "succeeded") succeeded += 1;
  }
  if (succeeded === requested) return "completed";
  return run.succeeded > 0 ? "partial" : "failed";
}
