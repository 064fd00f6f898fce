import type { Proposal } from "../call/proposal.ts";
import type { EndStatus, Event, StepsInFlight } from "../event/event.ts";
import type { SignalSent, TakenSignal } from "../event/signal.ts";
import type { Parking, SignalBoxVersion } from "../event/step-parking.ts";
import { stepKinds } from "../plan/step-kinds.ts";
import { findStep, type Run } from "../run/run.ts";
import { awaitsSignal, mayBeSkipped, type Step } from "../run/step.ts";
import { assert } from "../values/assert.ts";
import { type Fault, fault } from "../values/fault.ts";
import type { Instant, RunId } from "../values/ids.ts";
import type { Json } from "../values/json.ts";
import type { CommandOf } from "./command.ts";
import { NEEDS_IN_FLIGHT, NO_CHANGE, type PartialDecision } from "./partial-decision.ts";

/** True if the step has waited and its time is over. It ends without guards, because no call starts. */
export function isWaitOver({ spec, standing }: Step): boolean {
  return stepKinds[spec.kind].endsByTime && standing.state === "waiting";
}

/** The maximum number of waiting steps in one signal row. */
const WAITERS_MAX = 100;

export function startWait(run: Run, step: Step, command: CommandOf<"start">): PartialDecision {
  const { now, proposal } = command;
  const { input, signal } = proposal;
  const { ms, until: at = null } = input as { readonly ms?: number; readonly until?: Instant };
  const until = ms === undefined ? at : ((now + ms) as Instant);
  if (signal?.next) {
    if (command.in_flight === null) return NEEDS_IN_FLIGHT;
    const taken = { ...boxAfterTake(signal.box), request: null };
    return { events: [signalEvent(step, signal.next, taken, { now, sparing: command.in_flight })] };
  }
  if (until !== null && until <= now) return { events: [waitElapsedEvent(step, now)] };
  if (signal !== null) return awaitSignal(run, step, signal.box, until, command);
  assert(until !== null, "a wait has a signal or a time");
  return parkStep(step, { for: "time", until }, now);
}

function awaitSignal(
  run: Run,
  step: Step,
  box: SignalBoxVersion,
  until: Instant | null,
  command: CommandOf<"start">,
): PartialDecision {
  const { now, in_flight: sparing } = command;
  const { step_id } = step.spec;
  if (box.waiters.length >= WAITERS_MAX) {
    if (sparing === null) return NEEDS_IN_FLIGHT;
    const message = `${WAITERS_MAX} steps already wait for the signal ${box.key}; use another signal for ${step_id}`;
    const why = fault("LIMIT_EXCEEDED", message);
    return { events: [{ type: "step.rejected", at: now, step_id, rule: "signal", fault: why, sparing }] };
  }
  const waiters = [...box.waiters, { run_id: run.id, step_id }];
  return parkStep(step, { for: "signal", box: { ...nextBoxVersion(box), waiters }, until }, now);
}

/** Ends a wait whose time is over without a signal. */
export function waitElapsedEvent(step: Step, now: Instant): Event {
  return succeededEvent(step, now, awaitsSignal(step) ? { waited_until: now, signal: null } : { waited_until: now });
}

/** Ends a wait with a signal. The payload is the result of the step. */
function signalEvent(
  step: Step,
  { signal_id, payload, by, at }: Pick<SignalSent, "signal_id" | "payload" | "by" | "at">,
  box: Omit<TakenSignal, "signal_id">,
  { now, sparing }: EndContext,
): Event {
  const taken = { signal_id, ...box };
  if (stepKinds[step.spec.kind].startsRun)
    return childEndedEvent(step, payload as unknown as ChildReport, taken, { now, sparing });
  const output = { signal: payload, by, sent_at: at };
  return { ...attemptFields(step, now), type: "step.succeeded", output, world: "pure", signal: taken };
}

interface EndContext {
  readonly now: Instant;
  /** The steps in flight, which are not skipped if this event ends the plan. */
  readonly sparing: StepsInFlight;
}

/** The report of a child run that has ended. */
interface ChildReport {
  readonly run_id: RunId;
  readonly status: EndStatus;
  readonly failed: Json;
  /** Present if the outputs exceed this number of bytes and are left out. */
  readonly too_long?: number;
}

/** Ends a step whose child run has ended. The report is the output of the step. */
function childEndedEvent(step: Step, report: ChildReport, signal: TakenSignal, { now, sparing }: EndContext): Event {
  const head = { ...attemptFields(step, now), signal };
  if (report.status === "completed" && report.too_long === undefined)
    return { ...head, type: "step.succeeded", output: report as unknown as Json, world: "pure" };
  const why = childFault(step, report);
  const skips = mayBeSkipped(step) ? { skips: true as const } : {};
  return { ...head, type: "step.failed", fault: why, retry_at: null, world: "permanent_failure", sparing, ...skips };
}

function childFault({ spec: { step_id } }: Step, { run_id, status, failed, too_long }: ChildReport): Fault {
  if (status === "completed") {
    const message = `${step_id} started run ${run_id}, whose outputs exceed ${too_long} bytes; return references from its last steps`;
    return fault("LIMIT_EXCEEDED", message, { run_id });
  }
  const message = `${step_id} started run ${run_id}, which is ${status}; fix the cause, then resume`;
  return fault("CHILD_FAILED", message, { run_id, status, failed });
}

function nextBoxVersion(box: SignalBoxVersion): SignalBoxVersion {
  return { ...box, version: box.version + 1 };
}

function boxAfterTake(box: SignalBoxVersion): SignalBoxVersion {
  return { ...nextBoxVersion(box), taken: box.taken + 1 };
}

/** Ends the wait of a step with a signal. If the step no longer waits, the sender puts the signal into its box. */
export function receiveSignal(run: Run, command: CommandOf<"signal">): PartialDecision {
  const { signal_id, step_id, box, payload, by, request, in_flight: sparing, now } = command;
  const step = findStep(run, step_id);
  if (step?.standing.state !== "waiting" || step.standing.on.for !== "signal") return NO_CHANGE;
  if (step.standing.on.box.key !== box.key) return NO_CHANGE;
  const taken = { ...nextBoxVersion(box), request };
  return { events: [signalEvent(step, { signal_id, payload, by, at: now }, taken, { now, sparing })] };
}

export function parkStep(step: Step, on: Parking, at: Instant): PartialDecision {
  const { standing } = step;
  const same = standing.state === "waiting" && standing.on.for === "tool" && on.for === "tool";
  return same ? NO_CHANGE : { events: [{ type: "step.parked", at, step_id: step.spec.step_id, on }] };
}

/** Parks a call that may start, but whose caller runs it and has not given its function yet. */
export function parkForCaller(step: Step, { away }: Pick<Proposal, "away">, at: Instant): PartialDecision | null {
  return away === null ? null : parkStep(step, { for: "tool", fault: away }, at);
}

export function succeededEvent(
  step: Step,
  now: Instant,
  output: Extract<Event, { type: "step.succeeded" }>["output"],
): Event {
  return { ...attemptFields(step, now), type: "step.succeeded", output, world: "pure" };
}

export function attemptFields(step: Step, now: Instant) {
  return { at: now, step_id: step.spec.step_id, attempt: step.attempts + 1, started_at: now };
}
