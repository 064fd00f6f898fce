import type { InFlight } from "./event.ts";
import { type Fault, fault } from "./fault.ts";
import type { GateId, Instant, StepId } from "./id.ts";
import type { TrieMap } from "./persistent/trie-map.ts";
import { type Gate, type MutableRun, type Run, wakeAt } from "./run.ts";
import { copyOf, isUndo, type Pace, pace, type Standing, type State, type Step, startable } from "./step.ts";
import type { Appointment } from "./time/calendar.ts";

/** Puts a step into a state. The only way a step moves, so the run's counters never disagree with its steps. */
export function placed(run: MutableRun, step: Step, standing: Standing): MutableRun {
  const before = run.steps.get(step.index).standing;
  const from = pace(before);
  const to = pace(standing);
  const moved = copyOf(step);
  moved.standing = standing;
  run.ended = null; // Whoever moves a step of an ended run has to say again how it ended.
  run.steps = run.steps.set(step.index, moved);
  if (from !== to) run.paces = shifted(run.paces, from, to);
  if (isPatient(from) || isPatient(to)) rescheduled(run, step.index, before);
  if (standing.state === "ready") run.fresh.push(step.index);
  if (CALLED.has(standing.state)) remember(run, step);
  if (before.state === "waiting_approval" && standing !== before) desert(run, before.gate_id);
  return run;
}

/** A step in one of these may have learnt something, or done something. */
const CALLED: ReadonlySet<State> = new Set<State>([
  "running",
  "succeeded",
  "failed_retryable",
  "failed_final",
  "in_doubt",
]);

function remember(run: MutableRun, { spec: { kind, name, policy_tags } }: Step): void {
  if (kind !== "operator") return;
  if (!run.called.has(name)) run.called = run.called.set(name, true);
  for (const tag of policy_tags) if (!run.tagged.has(tag)) run.tagged = run.tagged.set(tag, true);
}

/** Keeps the lists of those that wait. What one change costs does not depend on how many do. */
function rescheduled(run: MutableRun, index: number, before: Standing): void {
  const step = run.steps.get(index);
  const { standing, spec } = step;
  const waits = isPatient(pace(standing));
  if (waits !== isPatient(pace(before))) run.waiting = listed(run.waiting, spec.step_id, waits);
  const unserved = isParkedForTool(standing);
  if (unserved !== isParkedForTool(before)) run.unserved = listed(run.unserved, spec.step_id, unserved);
  const at = wakeAt(run, step);
  if (at !== null) run.calendar = run.calendar.with(at, index);
  let { calendar } = run;
  for (let { first } = calendar; first !== null && isGone(run, first); first = calendar.first)
    calendar = calendar.withoutFirst();
  run.calendar = calendar;
}

function isPatient(how: Pace): boolean {
  return how === "waiting" || how === "retrying";
}

function listed(list: TrieMap<true>, id: StepId, on: boolean): TrieMap<true> {
  return on ? list.set(id, true) : list.delete(id);
}

function isGone(run: Run, { at, index }: Appointment): boolean {
  return wakeAt(run, run.steps.get(index)) !== at;
}

function desert(run: MutableRun, gate_id: GateId): void {
  if ((run.gates.get(gate_id) as Gate).status === "open") run.deserted = [...run.deserted, gate_id];
}

function shifted(paces: Run["paces"], from: Pace, to: Pace): Run["paces"] {
  const count = (which: Pace) => paces[which] + Number(which === to) - Number(which === from);
  return {
    moving: count("moving"),
    retrying: count("retrying"),
    waiting: count("waiting"),
    blocked: count("blocked"),
    done: count("done"),
  };
}

/** Replaces a step that stays in its state. */
export function withStep(run: MutableRun, step: Step): MutableRun {
  run.steps = run.steps.set(step.index, step);
  return run;
}

/** A step has ended without success: what follows for the others, as its plan said. */
export function sunk(run: MutableRun, { index }: Step, how: Sinking): MutableRun {
  const step = run.steps.get(index);
  return stopsAll(step) ? abort(run, step, how) : skipBehind(run, step);
}

/** The fact that made a step sink, as far as the others are concerned. */
interface Sinking {
  readonly at: Instant;
  readonly sparing?: InFlight;
}

function stopsAll(step: Step): boolean {
  const { standing, spec } = step;
  if (isUndo(step)) return false;
  if (standing.state === "failed_final") return spec.on_failure !== "skip";
  return standing.state === "rejected" && spec.on_rejected === "stop";
}

/** Nothing new starts; what runs or is in doubt comes to its own end. */
function abort(run: MutableRun, { spec }: Step, how: Sinking): MutableRun {
  if (!run.open) run.stopped ??= spec.step_id; // An agent goes on with what it proposes next.
  for (const step of run.steps) {
    if (!isIdle(step) || isUndo(step) || isSpared(step, how)) continue;
    withdrawn(run, step, { state: "skipped", fault: aborted(spec.step_id) });
  }
  return run;
}

function aborted(by: StepId): Fault {
  return fault("ABORTED", `${by} ended the plan; resume the run once its cause is mended`);
}

/** Where nobody can tell what is in flight, whatever may be is left to whoever holds the run: it ends, or never starts. */
function isSpared(step: Step, { sparing = [], at }: Sinking): boolean {
  const { standing, spec } = step;
  if (sparing === "unknown") return startable(step, at) && !isParkedForTool(standing);
  // A step at a gate has no handler, whoever says that it is on its way.
  return sparing.includes(spec.step_id) && standing.state !== "waiting_approval";
}

function isParkedForTool(standing: Standing): boolean {
  return standing.state === "waiting" && standing.on.for === "tool";
}

/** Takes an idle step out of the run. An act that was to be sent again is in doubt as before, and only a person can tell. */
export function withdrawn(run: MutableRun, step: Step, standing: Standing): MutableRun {
  return placed(run, step, step.act?.doubt ?? standing);
}

/** It may run again, unless the run was cancelled or ended by a step meanwhile. */
export function reopened(run: MutableRun, step: Step): MutableRun {
  if (run.cancel !== null && !isUndo(step)) return placed(run, step, { state: "cancelled" });
  if (run.stopped !== null && !isUndo(step))
    return placed(run, step, { state: "skipped", fault: aborted(run.stopped) });
  return placed(run, step, { state: "ready" });
}

/** Not begun, or between two tries. */
export function isIdle({ standing }: Step): boolean {
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

function skipBehind(run: MutableRun, because: Step): MutableRun {
  const behind: [index: number, why: Fault][] = [];
  const reach = (step: Step) => {
    const why = fault("DEPENDENCY_FAILED", `needs ${step.spec.step_id}, which is ${step.standing.state}`);
    for (const at of run.dependents[step.index] ?? []) behind.push([at, why]);
  };
  reach(because);
  for (let next = behind.pop(); next !== undefined; next = behind.pop()) {
    const step = run.steps.get(next[0]);
    if (step.standing.state !== "pending") continue;
    placed(run, step, { state: "skipped", fault: next[1] });
    reach(run.steps.get(step.index));
  }
  return run;
}

/** Takes back what did not succeed and may be tried again; keys, receipts and spent money stay as they are. */
export function resumed(run: MutableRun): MutableRun {
  const stuck = stuckBehind(run);
  run.ended = null;
  run.stopped = null;
  for (const step of run.steps) if (mayResume(step) && !stuck.has(step.index)) reset(run, step);
  return run;
}

/** Whether resuming would bring anything back. */
export function isResumable(run: Run): boolean {
  const stuck = stuckBehind(run);
  for (const step of run.steps) if (mayResume(step) && !stuck.has(step.index)) return true;
  return false;
}

/** The steps that need one that resuming does not bring back: they would wait for ever. */
function stuckBehind(run: Run): ReadonlySet<number> {
  const stuck = new Set<number>();
  const lost: number[] = [];
  for (const step of run.steps) if (!mayResume(step) && step.standing.state !== "succeeded") lost.push(step.index);
  for (let next = lost.pop(); next !== undefined; next = lost.pop()) {
    for (const at of run.dependents[next] ?? []) {
      if (stuck.has(at) || run.steps.get(at).standing.state === "succeeded") continue;
      stuck.add(at);
      lost.push(at);
    }
  }
  return stuck;
}

function mayResume(step: Step): boolean {
  const { standing, act } = step;
  if (isUndo(step) || !["failed_final", "rejected", "skipped"].includes(standing.state)) return false;
  return act === null || act.state === "not_done" || act.state === "absent";
}

function reset(run: MutableRun, step: Step): MutableRun {
  const missing = step.spec.depends_on.filter((id) => {
    const needed = run.steps.get(run.index.get(id) as number);
    return needed.standing.state !== "succeeded";
  }).length;
  const again = { ...step, missing, forgiven: step.attempts, call: step.act === null ? null : step.call };
  return placed(run, again, missing === 0 ? { state: "ready" } : { state: "pending" });
}
