import type { Patch } from "../state/patch.ts";
import type { WorldOutcome } from "../values/effect.ts";
import type { Instant, StepId } from "../values/ids.ts";
import { isReplanStep } from "./plan-in-force.ts";
import type { Run } from "./run.ts";
import { isReversal, type Step } from "./step.ts";
import type { StepResult } from "./step-result.ts";
import type { StepTimes } from "./step-times.ts";

/** The result of a step with its id, its attempts and its times. The times are absent if it was not executed. */
export type StepReport = {
  readonly step_id: StepId;
  readonly attempts: number;
  /** The consequence of the last attempt for the outside world. Null: it has none yet. */
  readonly world: WorldOutcome | null;
  /** Absent if the step made no version of the state. */
  readonly state_change?: StepVersion;
} & Partial<StepTimes> &
  StepResult;

/** The version of the state that a step made. */
export interface StepVersion {
  readonly before: number;
  readonly version: number;
  /** Null: too large for a result; `checkpoints.diff` shows the changes. */
  readonly changes: Patch | null;
}

export function stepReport(step: Step, result: StepResult): StepReport {
  const { attempts, times, world } = step;
  const { step_id } = step.spec;
  const state = stepVersion(step);
  const report =
    times === null ? { step_id, attempts, world, ...result } : { step_id, attempts, world, ...times, ...result };
  return state === null ? report : { ...report, state_change: state };
}

function stepVersion({ checkpoint }: Step): StepVersion | null {
  if (checkpoint?.before == null || checkpoint.after === null) return null;
  const { before, after, changes } = checkpoint;
  return after === before ? null : { before, version: after, changes };
}

/** The number of steps by their end. Steps that undo an act or ask the replanner do not count. */
export interface StepCounts {
  readonly steps: number;
  readonly succeeded: number;
  /** Of those that succeeded, the steps that reused a recorded result. */
  readonly reused: number;
  readonly failed: number;
  readonly rejected: number;
  readonly skipped: number;
  readonly cancelled: number;
  /** The attempts after the first of each step. */
  readonly retries: number;
}

export function countSteps({ steps }: Run): StepCounts {
  const counts = { steps: 0, succeeded: 0, reused: 0, failed: 0, rejected: 0, skipped: 0, cancelled: 0, retries: 0 };
  for (const step of steps) {
    if (isReversal(step) || isReplanStep(step)) continue;
    const { standing, attempts } = step;
    counts.steps += 1;
    counts.retries += Math.max(0, attempts - 1);
    if (standing.state === "succeeded" && standing.reused !== null) counts.reused += 1;
    const end = standing.state === "failed_final" ? "failed" : standing.state;
    if (end === "succeeded" || end === "failed" || end === "rejected" || end === "skipped" || end === "cancelled")
      counts[end] += 1;
  }
  return counts;
}

/** When the run was accepted and ended. Null: it has not ended. */
export interface RunTimes {
  readonly accepted_at: Instant;
  readonly ended_at: Instant | null;
  readonly ms: number | null;
}

export function runTimes({ accepted_at, ended }: Run): RunTimes {
  if (ended === null) return { accepted_at, ended_at: null, ms: null };
  return { accepted_at, ended_at: ended.at, ms: Math.max(0, ended.at - accepted_at) };
}

/** The versions of the state that the steps of a run made. Versions of other runs may lie between them. */
export interface RunVersions {
  readonly made: number;
  readonly first: number;
  readonly last: number;
}

/** Returns the versions that the steps made, or null if they made none. */
export function runVersions({ steps }: Run): RunVersions | null {
  let made = 0;
  let [first, last] = [Number.POSITIVE_INFINITY, 0];
  for (const { checkpoint } of steps) {
    if (checkpoint?.after == null || checkpoint.after === checkpoint.before) continue;
    made += 1;
    first = Math.min(first, checkpoint.after);
    last = Math.max(last, checkpoint.after);
  }
  return made === 0 ? null : { made, first, last };
}
