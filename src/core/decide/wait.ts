import { assert } from "../assert.ts";
import type { Ask } from "../command.ts";
import type { EndStatus, Event, InFlight } from "../event.ts";
import { type Fault, fault } from "../fault.ts";
import type { Instant, RunId } from "../id.ts";
import type { Json } from "../json/json.ts";
import type { BoxVersion, Parking } from "../parking.ts";
import { NOTHING, type Ruling } from "../ruling.ts";
import { findStep, type Run } from "../run.ts";
import type { SignalSent, Taken } from "../signal.ts";
import { awaitsSignal, type Step } from "../step.ts";

/** It waited, and its time has come: nothing starts any more that could be held or refused. */
export function isOver({ spec, standing }: Step): boolean {
  return spec.kind === "wait" && standing.state === "waiting";
}

/** More would wait for one signal than its row should hold. */
const WAITERS_MOST = 100;

export function wait(run: Run, step: Step, command: Ask<"start">): Ruling {
  const { now, proposal } = command;
  const { input, signal } = proposal;
  const { ms, until: at = null } = input as { readonly ms?: number; readonly until?: Instant };
  const until = ms === undefined ? at : ((now + ms) as Instant);
  if (signal?.next) {
    const taken = { ...took(signal.box), request: null };
    return { events: [signalled(step, signal.next, taken, { now, sparing: command.in_flight })] };
  }
  if (until !== null && until <= now) return { events: [waited(step, now)] };
  if (signal !== null) return awaiting(run, step, signal.box, until, command);
  assert(until !== null, "a wait that is for no signal is for some time");
  return parked(step, { for: "time", until }, now);
}

function awaiting(run: Run, step: Step, box: BoxVersion, until: Instant | null, command: Ask<"start">): Ruling {
  const { now, in_flight: sparing } = command;
  const { step_id } = step.spec;
  if (box.waiters.length >= WAITERS_MOST) {
    const message = `${WAITERS_MOST} steps wait for the signal ${box.key} already; give ${step_id} another`;
    const why = fault("LIMIT_EXCEEDED", message);
    return { events: [{ type: "step.rejected", at: now, step_id, rule: "signal", fault: why, sparing }] };
  }
  const waiters = [...box.waiters, { run_id: run.id, step_id }];
  return parked(step, { for: "signal", box: { ...after(box), waiters }, until }, now);
}

/** Its time has come, and no signal before it. */
export function waited(step: Step, now: Instant): Event {
  return done(step, now, awaitsSignal(step) ? { waited_until: now, signal: null } : { waited_until: now });
}

/** What a wait was for has come: it has a result, as if a tool had answered. */
function signalled(
  step: Step,
  { signal_id, payload, by, at }: Pick<SignalSent, "signal_id" | "payload" | "by" | "at">,
  box: Omit<Taken, "signal_id">,
  { now, sparing }: Moment,
): Event {
  const taken = { signal_id, ...box };
  if (step.spec.kind === "run") return reported(step, payload as unknown as Report, taken, { now, sparing });
  const output = { signal: payload, by, sent_at: at };
  return { ...attempted(step, now), type: "step.succeeded", output, world: "pure", signal: taken };
}

/** When it is, and what comes to its own end if this ends the plan. */
interface Moment {
  readonly now: Instant;
  readonly sparing: InFlight;
}

/** What a run says of itself when it has ended. */
interface Report {
  readonly run_id: RunId;
  readonly status: EndStatus;
  readonly failed: Json;
  /** It has more to show than this many bytes, and shows nothing. */
  readonly too_long?: number;
}

/** The run that a step asked for has ended: what it has to show is what the step has. */
function reported(step: Step, told: Report, signal: Taken, { now, sparing }: Moment): Event {
  const head = { ...attempted(step, now), signal };
  if (told.status === "completed" && told.too_long === undefined)
    return { ...head, type: "step.succeeded", output: told as unknown as Json, world: "pure" };
  const why = flawOf(step, told);
  return { ...head, type: "step.failed", fault: why, retry_at: null, world: "permanent_failure", sparing };
}

function flawOf({ spec: { step_id } }: Step, { run_id, status, failed, too_long }: Report): Fault {
  if (status === "completed") {
    const message = `${step_id} asked for run ${run_id}, which has more than ${too_long} bytes to show; let its last steps answer references`;
    return fault("LIMIT_EXCEEDED", message, { run_id });
  }
  const message = `${step_id} asked for run ${run_id}, which is ${status}; mend its cause, then resume`;
  return fault("CHILD_FAILED", message, { run_id, status, failed });
}

function after(box: BoxVersion): BoxVersion {
  return { ...box, version: box.version + 1 };
}

function took(box: BoxVersion): BoxVersion {
  return { ...after(box), taken: box.taken + 1 };
}

/** Someone sent what a step waits for. If it no longer waits, nothing happens here, and the signal goes into its box. */
export function signal(run: Run, command: Ask<"signal">): Ruling {
  const { signal_id, step_id, box, payload, by, request, in_flight: sparing, now } = command;
  const step = findStep(run, step_id);
  if (step?.standing.state !== "waiting" || step.standing.on.for !== "signal") return NOTHING;
  if (step.standing.on.box.key !== box.key) return NOTHING;
  const taken = { ...after(box), request };
  return { events: [signalled(step, { signal_id, payload, by, at: now }, taken, { now, sparing })] };
}

export function parked(step: Step, on: Parking, at: Instant): Ruling {
  const { standing } = step;
  const same = standing.state === "waiting" && standing.on.for === "tool" && on.for === "tool";
  return same ? NOTHING : { events: [{ type: "step.parked", at, step_id: step.spec.step_id, on }] };
}

export function done(step: Step, now: Instant, output: Extract<Event, { type: "step.succeeded" }>["output"]): Event {
  return { ...attempted(step, now), type: "step.succeeded", output, world: "pure" };
}

export function attempted(step: Step, now: Instant) {
  return { at: now, step_id: step.spec.step_id, attempt: step.attempts + 1, started_at: now };
}
