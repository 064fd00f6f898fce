import type { Call, Event } from "../event/event.ts";
import type { Run } from "../run/run.ts";
import type { Step } from "../run/step.ts";
import type { Grant } from "./command.ts";

/** Supersedes earlier acts of this run with the same key, because two steps must not write the same row. */
export function supersedeEarlierActs(
  run: Run,
  { spec }: Step,
  { key }: Call,
  { generation, started_at: at }: Grant,
): readonly Event[] {
  if (generation < 2) return [];
  const by = { run: run.id, step: spec.step_id, generation };
  return [...run.steps]
    .filter(({ act, call }) => call?.key === key && act !== null && !act.superseded && act.generation < generation)
    .map(({ spec: { step_id } }) => ({ type: "step.superseded", at, step_id, by }));
}
