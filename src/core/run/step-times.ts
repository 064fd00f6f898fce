import type { Instant } from "../values/ids.ts";

/** When the attempts of a step ran. */
export interface StepTimes {
  /** The start of the first attempt. */
  readonly started_at: Instant;
  /** The end of the last attempt. */
  readonly ended_at: Instant;
  /** The sum of the durations of all attempts, in milliseconds. */
  readonly ms: number;
}

/** Adds an attempt. A clock that was set back counts as no time. */
export function addAttemptTime(times: StepTimes | null, started_at: Instant, ended_at: Instant): StepTimes {
  const ms = Math.max(0, ended_at - started_at);
  return times === null ? { started_at, ended_at, ms } : { started_at: times.started_at, ended_at, ms: times.ms + ms };
}
