import type { EarlierAct } from "../event/model-call.ts";
import type { StepId } from "../values/ids.ts";
import { findStep, type Run } from "./run.ts";
import type { Act, Step } from "./step.ts";

const didNothing: readonly Act["state"][] = ["not_done", "absent", "compensated"];

/** True if the step acted, has started to act, or may have acted. */
function mayHaveActed({ act }: Step): boolean {
  return act !== null && !didNothing.includes(act.state);
}

/**
 * Returns the ids of the steps that acted or may have acted for these steps: the steps themselves, or the earlier acts
 * whose receipts answered them.
 */
export function actsOf(run: Run, steps: readonly Step[]): readonly StepId[] {
  const acts = new Set<StepId>();
  for (const step of steps) {
    const { standing } = step;
    const reused = standing.state === "succeeded" && standing.reused?.run === run.id ? standing.reused.step : null;
    const act = reused === null ? step : findStep(run, reused);
    if (act !== undefined && mayHaveActed(act)) acts.add(act.spec.step_id);
  }
  return Array.from(acts);
}

/** Returns the acts of a tool in old branches that the act of a new branch may repeat. */
export function branchActsOf(run: Run, tool: string): readonly Step[] {
  if (run.conversation === null || run.conversation.branchActs.size === 0) return NONE;
  const acts: Step[] = [];
  for (const [id] of run.conversation.branchActs) {
    const step = findStep(run, id as StepId);
    if (step !== undefined && step.spec.name === tool && mayHaveActed(step)) acts.push(step);
  }
  return acts.sort((left, right) => left.index - right.index);
}

const NONE: readonly Step[] = [];

/** Larger inputs and longer lists are in the journal. */
const SHOWN_INPUT_MAX = 4096;
const SHOWN_ACTS_MAX = 20;

/** Returns the acts of old branches as the gate of a call shows them, the latest last. */
export function earlierActs(run: Run, { spec }: Step): readonly EarlierAct[] {
  return branchActsOf(run, spec.name)
    .slice(-SHOWN_ACTS_MAX)
    .map(({ spec: { step_id }, act, call }) => {
      const input = call?.input;
      const isShort = input !== undefined && JSON.stringify(input).length <= SHOWN_INPUT_MAX;
      return { step_id, state: act?.state ?? "started", ...(isShort && { input }) };
    });
}
