import type { Instant, RunId, StepId } from "../values/ids.ts";

/** The step that a reused result comes from. `differs` says how its call differed, or is null. */
export interface ReuseSource {
  readonly run: RunId;
  readonly step: StepId;
  readonly at: Instant;
  readonly differs: string | null;
}
