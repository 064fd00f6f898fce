import type { Taking } from "../command.ts";
import type { Event, Notice } from "../event.ts";
import type { Instant, StepId } from "../id.ts";
import { type Run, statusOf } from "../run.ts";
import { pace } from "../step.ts";

/** So many are named at most: more would not help whoever looks for the one to blame. */
const STEPS_NAMED = 10;

/**
 * A worker takes the run from one that never let it go. If as many as may have done so in turn, and nothing came of it, the
 * run is to blame: it is parked, and only a person lets it go on.
 */
export function takenOver(run: Run, { by, from, epoch, most }: Taking, at: Instant): readonly Event[] {
  if (statusOf(run) !== "running") return [];
  const steps = underWay(run);
  const taken = { type: "run.taken", at, by, from, epoch, steps } as const;
  const times = run.takeovers.length + 1;
  if (times < most) return [taken];
  return [taken, { type: "run.poisoned", at, notices: [notice(run, times, steps, at)] }];
}

function underWay(run: Run): readonly StepId[] {
  const named: StepId[] = [];
  for (const { standing, spec } of run.steps) {
    if (named.length === STEPS_NAMED) break;
    if (pace(standing) === "moving" || pace(standing) === "retrying") named.push(spec.step_id);
  }
  return named;
}

/** No step has this in its id, so that no notice of a step has this id. */
function notice(run: Run, times: number, steps: readonly StepId[], at: Instant): Notice {
  const notice_id = `ntc_${run.id.slice("run_".length)}_!poison_${run.position + 2}`;
  return { notice_id, topic: "run.poisoned", payload: { run_id: run.id, takeovers: times, steps: [...steps], at } };
}
