import type { BranchId, LeftAct } from "../event/left-act.ts";
import type { EarlierAct } from "../event/model-call.ts";
import type { LedgerState } from "../store/tables.ts";
import { assert } from "../values/assert.ts";
import type { EffectKey, RunId, StepId } from "../values/ids.ts";
import { findStep, type Run } from "./run.ts";
import { isUndoStep, type Step } from "./step.ts";

const didNothing: readonly LedgerState[] = ["not_done", "absent", "compensated"];

/** True if the step acted, has started to act, or may have acted. An act that was undone does not count. */
export function mayHaveActed({ act }: Step): boolean {
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

/** Returns the acts in branches that the conversation has left, of this run and of others, which hold later acts. */
function branchActs(run: Run): readonly LeftAct[] {
  const { conversation } = run;
  if (conversation === null || conversation.branchActs.size + conversation.leftActs.size === 0) return NONE;
  const acts: LeftAct[] = [];
  for (const [, { answers, ...act }] of conversation.leftActs)
    if (answers === null && !didNothing.includes(act.state)) acts.push(act);
  acts.sort((left, right) => (leftActKey(left) < leftActKey(right) ? -1 : 1));
  const own: (readonly [Step, BranchId])[] = [];
  for (const [id, branch] of conversation.branchActs) {
    const step = findStep(run, id as StepId);
    if (step !== undefined && mayHaveActed(step)) own.push([step, branch]);
  }
  own.sort(([left], [right]) => left.index - right.index);
  return [...acts, ...own.map(([step, branch]) => leftAct(run.id, step, branch))];
}

/** Returns the acts of a tool in old branches that the act of a new branch may repeat. */
export function branchActsOf(run: Run, tool: string): readonly LeftAct[] {
  return branchActs(run).filter((act) => act.tool === tool);
}

const NONE: readonly never[] = [];

/** Returns the acts that hold later acts of the next run of the conversation: that of a sub-agent, or the next segment. */
export function inheritedActs(run: Run): readonly LeftAct[] {
  return withShortInputs(branchActs(run));
}

/** Returns the acts of a sub-agent that a branch has left. An act of an older branch that answered a call is one of them. */
export function actsOfLeftAgent(run: Run, branch: BranchId): readonly LeftAct[] {
  const acts: LeftAct[] = [];
  for (const [, { answers, ...act }] of run.conversation?.leftActs ?? NONE)
    if (answers !== null || act.branch.startsWith(`${run.id}@`)) acts.push({ ...act, branch });
  for (const step of run.steps) if (mayHaveActed(step) && !isUndoStep(step)) acts.push(leftAct(run.id, step, branch));
  return withShortInputs(acts);
}

function leftAct(run_id: RunId, { spec, act, call }: Step, branch: BranchId): LeftAct {
  assert(act !== null && call !== null, "an act has a call");
  const { key, digest, input } = call;
  return {
    run_id,
    step_id: spec.step_id,
    tool: spec.name,
    key: key as EffectKey,
    digest,
    state: act.state,
    branch,
    input,
  };
}

export function leftActKey({ run_id, step_id }: Pick<LeftAct, "run_id" | "step_id">): string {
  return `${run_id}/${step_id}`;
}

/** Larger inputs and longer lists are in the journal. */
const SHOWN_INPUT_MAX = 4096;
const SHOWN_ACTS_MAX = 20;

function withShortInputs(acts: readonly LeftAct[]): readonly LeftAct[] {
  return acts.map((act, index) => {
    const isShown = index >= acts.length - SHOWN_ACTS_MAX && isShort(act);
    const { input: _, ...rest } = act;
    return isShown ? act : rest;
  });
}

function isShort({ input }: LeftAct): boolean {
  return input !== undefined && JSON.stringify(input).length <= SHOWN_INPUT_MAX;
}

/** Returns the acts of old branches as the gate of a call shows them, the latest last. */
export function earlierActs(run: Run, { spec }: Step): readonly EarlierAct[] {
  return branchActsOf(run, spec.name)
    .slice(-SHOWN_ACTS_MAX)
    .map((act) => ({
      step_id: act.step_id,
      ...(act.run_id !== run.id && { run_id: act.run_id }),
      state: act.state,
      ...(isShort(act) && act.input !== undefined && { input: act.input }),
    }));
}

/** True if a branch has left a sub-agent whose acts are not reported yet. No act starts before they are. */
export function hasLeftAgents({ conversation }: Run): boolean {
  return conversation !== null && conversation.leftAgents.size > 0;
}
