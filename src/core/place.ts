import { type Fault, fault } from "./fault.ts";
import type { StepId } from "./id.ts";
import type { Run } from "./run.ts";
import { pace, type Standing, type Step } from "./step.ts";

/** Puts a step into a state. The only way a step moves, so the run's counters never disagree with its steps. */
export function placed(run: Run, step: Step, standing: Standing): Run {
  const before = run.steps.get(step.index).standing;
  const [from, to] = [pace(before), pace(standing)];
  const paces = from === to ? run.paces : { ...run.paces, [from]: run.paces[from] - 1, [to]: run.paces[to] + 1 };
  const id = step.spec.step_id;
  const waits = to === "waiting" || to === "retrying";
  const waited = from === "waiting" || from === "retrying";
  return {
    ...run,
    ended: null, // Whoever moves a step of an ended run has to say again how it ended.
    steps: run.steps.set(step.index, { ...step, standing }),
    paces,
    waiting: waits === waited ? run.waiting : waits ? run.waiting.set(id, true) : run.waiting.delete(id),
    fresh: standing.state === "ready" ? [...run.fresh, step.index] : run.fresh,
  };
}

/** Replaces a step that stays in its state. */
export function withStep(run: Run, step: Step): Run {
  return { ...run, steps: run.steps.set(step.index, step) };
}

/** A step has ended without success: what follows for the others, as its plan said. */
export function sunk(run: Run, { index }: Step, sparing: readonly StepId[] = []): Run {
  const step = run.steps.get(index);
  return stopsAll(step) ? abort(run, step, sparing) : skipBehind(run, step);
}

function stopsAll({ standing, spec, cause }: Step): boolean {
  if (cause?.by === "undo") return false;
  if (standing.state === "failed_final") return spec.on_failure !== "skip";
  return standing.state === "rejected" && spec.on_rejected === "stop";
}

/** Nothing new starts; what runs or is in doubt comes to its own end. */
function abort(run: Run, because: Step, sparing: readonly StepId[]): Run {
  const why = fault("ABORTED", `${because.spec.step_id} ended the plan; resume the run once its cause is mended`);
  let after = run;
  for (const step of run.steps) {
    if (!isIdle(step) || step.cause?.by === "undo" || sparing.includes(step.spec.step_id)) continue;
    after = placed(after, step, { state: "skipped", fault: why });
  }
  return after;
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

function skipBehind(run: Run, because: Step): Run {
  let after = run;
  const behind: [index: number, why: Fault][] = [];
  const reach = (step: Step) => {
    const why = fault("DEPENDENCY_FAILED", `needs ${step.spec.step_id}, which is ${step.standing.state}`);
    for (const at of run.dependents[step.index] ?? []) behind.push([at, why]);
  };
  reach(because);
  for (let next = behind.pop(); next !== undefined; next = behind.pop()) {
    const step = after.steps.get(next[0]);
    if (step.standing.state !== "pending") continue;
    after = placed(after, step, { state: "skipped", fault: next[1] });
    reach(after.steps.get(step.index));
  }
  return after;
}

/** Takes back what did not succeed and may be tried again; keys, receipts and spent money stay as they are. */
export function resumed(run: Run): Run {
  const stuck = stuckBehind(run);
  let after = run;
  for (const step of run.steps) if (mayResume(step) && !stuck.has(step.index)) after = reset(after, step);
  return after;
}

/** The steps that need one that resuming does not bring back: they would wait for ever. */
function stuckBehind(run: Run): ReadonlySet<number> {
  const stuck = new Set<number>();
  const lost: number[] = [];
  for (const step of run.steps) if (!mayResume(step) && step.standing.state !== "succeeded") lost.push(step.index);
  for (let next = lost.pop(); next !== undefined; next = lost.pop()) {
    for (const at of run.dependents[next] ?? []) {
      if (stuck.has(at)) continue;
      stuck.add(at);
      lost.push(at);
    }
  }
  return stuck;
}

function mayResume({ standing, act, cause }: Step): boolean {
  if (cause?.by === "undo") return false;
  if (!["failed_final", "rejected", "skipped"].includes(standing.state)) return false;
  return act === null || act.state === "not_done" || act.state === "absent";
}

function reset(run: Run, step: Step): Run {
  const missing = step.spec.depends_on.filter((id) => {
    const needed = run.steps.get(run.index.get(id) as number);
    return needed.standing.state !== "succeeded";
  }).length;
  const again = { ...step, missing, forgiven: step.attempts, call: step.act === null ? null : step.call };
  return placed(run, again, missing === 0 ? { state: "ready" } : { state: "pending" });
}
