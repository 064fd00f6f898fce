import type { Event, Notice } from "../event/event.ts";
import { isRunning, type Run } from "../run/run.ts";
import { stepPace } from "../run/step.ts";
import type { Instant, StepId } from "../values/ids.ts";
import type { TakeoverClaim } from "./command.ts";

/** The maximum number of steps in the event. */
const STEPS_MAX = 10;

/**
 * Records that a worker takes the run over from a worker that had not released it. After `most` takeovers without
 * progress, the run is parked, and only a person can resume it.
 */
export function recordTakeover(run: Run, { by, from, epoch, most }: TakeoverClaim, at: Instant): readonly Event[] {
  if (!isRunning(run)) return [];
  const steps = movingSteps(run);
  const taken = { type: "run.taken", at, by, from, epoch, steps } as const;
  const times = run.takeovers.length + 1;
  if (times < most) return [taken];
  return [taken, { type: "run.poisoned", at, notices: [poisonNotice(run, times, steps, at)] }];
}

function movingSteps(run: Run): readonly StepId[] {
  const named: StepId[] = [];
  for (const { standing, spec } of run.steps) {
    if (named.length === STEPS_MAX) break;
    if (stepPace(standing) === "moving" || stepPace(standing) === "retrying") named.push(spec.step_id);
  }
  return named;
}

/** "!" keeps the id apart from step notices: no step id contains it. */
function poisonNotice(run: Run, times: number, steps: readonly StepId[], at: Instant): Notice {
  const notice_id = `ntc_${run.id.slice("run_".length)}_!poison_${run.position + 2}`;
  return { notice_id, topic: "run.poisoned", payload: { run_id: run.id, takeovers: times, steps: [...steps], at } };
}
