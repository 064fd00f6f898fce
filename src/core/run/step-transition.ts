import type { StepsInFlight } from "../event/event.ts";
import type { TrieMap } from "../persistent/trie-map.ts";
import type { Wakeup } from "../persistent/wakeup-heap.ts";
import { stepKinds } from "../plan/step-kinds.ts";
import { type Fault, fault } from "../values/fault.ts";
import type { GateId, Instant, StepId } from "../values/ids.ts";
import { isReplaced, isReplanStep } from "./plan-in-force.ts";
import type { Gate, MutableRun, Run } from "./run.ts";
import { stepWakeAt } from "./run-wakeups.ts";
import { startsNoMore } from "./starts-no-more.ts";
import {
  copyStep,
  isReversal,
  isStartable,
  type Step,
  type StepPace,
  type StepStanding,
  type StepState,
  stepPace,
} from "./step.ts";
import { countWait, waitingFor } from "./waiting-for.ts";

/** Changes the state of a step. No other function does, so the counters of the run always agree with its steps. */
export function moveStep(run: MutableRun, step: Step, standing: StepStanding): MutableRun {
  const before = run.steps.get(step.index).standing;
  const from = stepPace(before);
  const to = stepPace(standing);
  const moved = copyStep(step);
  moved.standing = standing;
  run.ended = null; // If a step of an ended run changes, another `run.ended` must follow.
  run.steps = run.steps.set(step.index, moved);
  if (from !== to) run.paces = shiftPaceCounts(run.paces, from, to);
  if (isWaitingPace(from) || isWaitingPace(to)) updateWaiting(run, step.index, before);
  if (before.state === "in_doubt" || standing.state === "in_doubt") updateDoubts(run, moved);
  if (standing.state === "ready") addFresh(run, step.index);
  if (calledStates.has(standing.state)) recordCalledTool(run, step);
  if (before.state === "waiting_approval" && standing !== before) abandonGate(run, before.gate_id);
  if (run.order.sequence !== null && (from === "done") !== (to === "done"))
    countForNext(run, step.index, to === "done");
  return run;
}

/** The next step of a sequential plan waits for the end of this step, however it ends. */
function countForNext(run: MutableRun, index: number, isDone: boolean): void {
  const next = run.order.sequence?.next[index] ?? null;
  const waiting = next === null ? null : run.steps.get(next);
  if (waiting?.standing.state !== "pending") return;
  const counted = copyStep(waiting);
  counted.missing += isDone ? -1 : 1;
  if (counted.missing === 0) moveStep(run, counted, { state: "ready" });
  else replaceStep(run, counted);
}

function updateDoubts(run: MutableRun, { standing, spec: { step_id } }: Step): void {
  const { doubts } = run.listing;
  const changed = standing.state === "in_doubt" ? doubts.set(step_id, run.position) : doubts.delete(step_id);
  run.listing = { ...run.listing, doubts: changed };
}

/** Makes a list of one at first: pushing to an empty list reserves room for 17. */
function addFresh(run: MutableRun, index: number): void {
  if (run.fresh.length === 0) run.fresh = [index];
  else run.fresh.push(index);
}

/** In these states the tool may have been called. */
const calledStates: ReadonlySet<StepState> = new Set<StepState>([
  "running",
  "succeeded",
  "failed_retryable",
  "failed_final",
  "in_doubt",
]);

function recordCalledTool(run: MutableRun, { spec: { kind, name, policy_tags } }: Step): void {
  if (!stepKinds[kind].callsTool) return;
  const { tools, tags } = run.called;
  if (!tools.has(name)) run.called = { tools: tools.set(name, true), tags };
  if (policy_tags.length === 0) return;
  const fresh = policy_tags.filter((tag) => !tags.has(tag));
  if (fresh.length > 0)
    run.called = { ...run.called, tags: fresh.reduce((known, tag) => known.set(tag, true as const), tags) };
}

/** Updates the lists of waiting steps. The cost does not depend on their length. */
function updateWaiting(run: MutableRun, index: number, before: StepStanding): void {
  const step = run.steps.get(index);
  const { standing, spec } = step;
  const waits = isWaitingPace(stepPace(standing));
  const waited = isWaitingPace(stepPace(before));
  if (waits !== waited) run.waiting = withMember(run.waiting, spec.step_id, waits);
  let counts = run.listing.waits;
  if (waited) counts = countWait(counts, waitingFor(before), -1);
  if (waits) counts = countWait(counts, waitingFor(standing), 1);
  run.listing = { ...run.listing, waits: counts };
  const parked = isParkedForTool(standing);
  if (parked !== isParkedForTool(before)) run.parkedForTools = withMember(run.parkedForTools, spec.step_id, parked);
  const at = stepWakeAt(run, step);
  if (at !== null) run.wakeups = run.wakeups.add(at, index);
  let { wakeups } = run;
  for (let { first } = wakeups; first !== null && isStaleWakeup(run, first); first = wakeups.first)
    wakeups = wakeups.withoutFirst();
  run.wakeups = wakeups;
}

function isWaitingPace(pace: StepPace): boolean {
  return pace === "waiting" || pace === "retrying";
}

function withMember(list: TrieMap<true>, id: StepId, present: boolean): TrieMap<true> {
  return present ? list.set(id, true) : list.delete(id);
}

function isStaleWakeup(run: Run, { at, index }: Wakeup): boolean {
  return stepWakeAt(run, run.steps.get(index)) !== at;
}

function abandonGate(run: MutableRun, gate_id: GateId): void {
  if ((run.gates.get(gate_id) as Gate).status === "open") run.abandonedGates = [...run.abandonedGates, gate_id];
}

function shiftPaceCounts(paces: Run["paces"], from: StepPace, to: StepPace): Run["paces"] {
  const { moving, retrying, waiting, blocked, done } = paces;
  const shifted = { moving, retrying, waiting, blocked, done };
  shifted[from] -= 1;
  shifted[to] += 1;
  return shifted;
}

/** Replaces a step whose state does not change. */
export function replaceStep(run: MutableRun, step: Step): MutableRun {
  run.steps = run.steps.set(step.index, step);
  return run;
}

/** Applies the failure policy of a step that ended without success: ends the plan, or skips its dependents. */
export function applyFailurePolicy(run: MutableRun, { index }: Step, failure: FailureEvent): MutableRun {
  const step = run.steps.get(index);
  return stopsPlan(run, step) ? abortPlan(run, step, failure) : skipDependents(run, step);
}

/** The fields of the failure event that affect other steps. */
interface FailureEvent {
  readonly at: Instant;
  readonly sparing?: StepsInFlight;
}

function stopsPlan({ plan }: Run, step: Step): boolean {
  const { standing, spec } = step;
  if (isReversal(step)) return false;
  // An atomic plan cannot become whole any more, whatever the step permits.
  if (plan?.atomicity === "plan" && "fault" in standing && standing.fault.code === "DEADLINE_EXCEEDED") return true;
  if (standing.state === "failed_final") return spec.on_failure !== "skip";
  return standing.state === "rejected" && spec.on_rejected === "stop";
}

/** Skips all idle steps. Steps that are running or in doubt continue to their end. */
function abortPlan(run: MutableRun, { spec }: Step, failure: FailureEvent): MutableRun {
  if (!run.open) run.stopped ??= spec.step_id; // In an open run, the agent can propose more steps.
  for (const step of run.steps) {
    if (!isIdleStep(step) || isReversal(step) || isSpared(step, failure)) continue;
    withdrawStep(run, step, { state: "skipped", fault: abortedFault(spec.step_id) });
  }
  return run;
}

function abortedFault(by: StepId): Fault {
  return fault("ABORTED", `${by} ended the plan; fix the cause, then resume the run`);
}

/**
 * True if the step may be running without a recorded start, so it must not be skipped. If the steps in flight are
 * unknown, every startable step is spared; the worker that holds the run ends it or never starts it.
 */
function isSpared(step: Step, { sparing = [], at }: FailureEvent): boolean {
  const { standing, spec } = step;
  if (sparing === "unknown") return isStartable(step, at) && !isParkedForTool(standing);
  // A step at a gate has no running handler, even if it is listed as in flight.
  return sparing.includes(spec.step_id) && standing.state !== "waiting_approval";
}

function isParkedForTool(standing: StepStanding): boolean {
  return standing.state === "waiting" && standing.on.for === "tool";
}

/** Ends an idle step as skipped or cancelled. An act that waited to be sent again returns to its doubt instead. */
export function withdrawStep(run: MutableRun, step: Step, standing: StepStanding): MutableRun {
  return moveStep(run, step, step.act?.doubt ?? standing);
}

/** Makes a step ready again. If no attempt of it starts any more or its plan ended, cancels or skips the step instead. */
export function reopenStep(run: MutableRun, step: Step): MutableRun {
  if (startsNoMore(run, step) && !isReversal(step)) return moveStep(run, step, { state: "cancelled" });
  if (run.stopped !== null && !isReversal(step))
    return moveStep(run, step, { state: "skipped", fault: abortedFault(run.stopped) });
  return moveStep(run, step, { state: "ready" });
}

/** True if the step has not started, or waits between two attempts. */
export function isIdleStep({ standing }: Step): boolean {
  switch (standing.state) {
    case "pending":
    case "ready":
    case "waiting_approval":
    case "waiting":
    case "failed_retryable":
      return true;
    default:
      return false;
  }
}

function skipDependents(run: MutableRun, failed: Step): MutableRun {
  const queue: [index: number, why: Fault][] = [];
  const addDependents = (step: Step) => {
    const why = fault("DEPENDENCY_FAILED", `needs ${step.spec.step_id}, which is ${step.standing.state}`);
    for (const index of run.order.dependents[step.index] ?? []) queue.push([index, why]);
  };
  addDependents(failed);
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const step = run.steps.get(next[0]);
    if (step.standing.state !== "pending") continue;
    moveStep(run, step, { state: "skipped", fault: next[1] });
    addDependents(run.steps.get(step.index));
  }
  return run;
}

/** Resets the unsuccessful steps that can run again. Keys, receipts and spending do not change. */
export function resumeSteps(run: MutableRun): MutableRun {
  const stuck = findStuckSteps(run);
  run.ended = null;
  run.stopped = null;
  for (const step of inRunOrder(run)) if (canResumeStep(run, step) && !stuck.has(step.index)) resetStep(run, step);
  return run;
}

/** In a sequential plan, a step is reset after the step that it waits for. */
function inRunOrder({ steps, order: { sequence } }: Run): Iterable<Step> {
  return sequence === null ? steps : sequence.order.map((index) => steps.get(index));
}

/** True if resuming would reset at least one step. */
export function isRunResumable(run: Run): boolean {
  if (run.recordOf !== null || run.rollback !== null) return false;
  const stuck = findStuckSteps(run);
  for (const step of run.steps) if (canResumeStep(run, step) && !stuck.has(step.index)) return true;
  return false;
}

/** Returns the steps that depend on a step that cannot be resumed. If reset, they would wait forever. */
function findStuckSteps(run: Run): ReadonlySet<number> {
  const stuck = new Set<number>();
  const queue: number[] = [];
  for (const step of run.steps)
    if (!canResumeStep(run, step) && step.standing.state !== "succeeded") queue.push(step.index);
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    for (const index of run.order.dependents[next] ?? []) {
      if (stuck.has(index) || run.steps.get(index).standing.state === "succeeded") continue;
      stuck.add(index);
      queue.push(index);
    }
  }
  return stuck;
}

function canResumeStep(run: Run, step: Step): boolean {
  const { standing, act, cause } = step;
  if (isReplaced(run, step) || isReplanStep(step)) return false;
  if (cause?.by === "agent") return false; // The turn of the call is over; its agent proposes it anew.
  if (isReversal(step) || !["failed_final", "rejected", "skipped"].includes(standing.state)) return false;
  return act === null || act.state === "not_done" || act.state === "absent";
}

function resetStep(run: MutableRun, step: Step): MutableRun {
  const missing = step.spec.depends_on.filter((id) => {
    const needed = run.steps.get(run.index.get(id) as number);
    return needed.standing.state !== "succeeded";
  }).length;
  const previous = run.order.sequence?.previous[step.index] ?? null;
  const waits = previous !== null && stepPace(run.steps.get(previous).standing) !== "done";
  const reset = {
    ...step,
    missing: missing + Number(waits),
    forgiven: step.attempts,
    call: step.act === null ? null : step.call,
  };
  return moveStep(run, reset, reset.missing === 0 ? { state: "ready" } : { state: "pending" });
}
