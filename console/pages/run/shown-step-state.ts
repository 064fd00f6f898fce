import type { StepState } from "../../../src/core/run/step.ts";
import type { LoadedRun } from "./use-run.ts";

/** Returns the state of a step: by the journal, or by the answer of the server while the journal is still being read. */
export function shownStepState({ view, now, isCaughtUp }: LoadedRun, index: number): StepState {
  const { spec, standing } = view.step(index);
  return isCaughtUp || now === null ? standing.state : (now.steps[spec.step_id]?.state ?? standing.state);
}
