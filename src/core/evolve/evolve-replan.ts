import type { Event } from "../event/event.ts";
import type { BranchId } from "../event/left-act.ts";
import { type LeanPlan, type Plan, planStep } from "../plan/plan.ts";
import { extendOrder } from "../plan/plan-order.ts";
import { mayHaveActed } from "../run/branch-acts.ts";
import { EMPTY_CONVERSATION } from "../run/conversation.ts";
import type { Replanning } from "../run/replanning.ts";
import { getStep, type MutableRun, type Run } from "../run/run.ts";
import { isUndoStep, newStep } from "../run/step.ts";
import type { RejectedCall } from "../state/state-change.ts";
import { assert } from "../values/assert.ts";
import { isJsonObject } from "../values/json.ts";

type EventOf<Type extends Event["type"]> = Extract<Event, { type: Type }>;

/** Returns how the run of an accepted plan can be replanned, or null. */
export function acceptedReplanning(
  { replan, fallbacks = NONE }: Pick<EventOf<"run.accepted">, "replan" | "fallbacks">,
  plan: Plan | null,
): Replanning | null {
  const terms = replan ?? null;
  if (plan === null || (terms === null && fallbacks.length === 0)) return null;
  return { terms, fallbacks, asked: 0, isOver: false, plans: 1, inForce: plan, from: 0, rejected: NONE };
}

const NONE: readonly never[] = [];

/** The plan before has ended, so nothing is stopped any more. */
export function applyReplanAsked(run: MutableRun): void {
  assert(run.replanning !== null, "only a run with a replanner asks it");
  run.stopped = null;
  run.replanning = { ...run.replanning, asked: run.replanning.asked + 1 };
}

/** An answer without a plan: the replanner knows no other one. */
export function applyReplanAnswer(run: MutableRun, { output }: EventOf<"step.succeeded">): void {
  if (!isJsonObject(output) || (output.plan ?? null) === null) endReplanning(run, true);
}

/** From now on no other plan continues the run, or with `false`, one may again. */
export function endReplanning(run: MutableRun, isOver: boolean): MutableRun {
  if (run.replanning !== null && run.replanning.isOver !== isOver) run.replanning = { ...run.replanning, isOver };
  return run;
}

/** Adds the steps of another plan. The earlier steps that they need have succeeded. */
export function applyReplanned(
  run: MutableRun,
  { plan: lean, tools, answer_of }: EventOf<"run.replanned">,
): MutableRun {
  const { replanning } = run;
  assert(replanning !== null, "only a run that may be replanned has another plan");
  const from = run.steps.length;
  const inForce = toPlan(lean);
  const { order, missing } = extendOrder(run.order, from, inForce, run.index);
  run.stopped = null;
  run.tools = { ...run.tools, ...tools };
  run.order = order;
  const ready: number[] = [];
  for (const [place, spec] of inForce.steps.entries()) {
    const step = newStep(from + place, spec, run.tools[spec.name] ?? null, null, missing[place] ?? 0);
    assert(!run.index.has(spec.step_id), `no other step has the id ${spec.step_id}`);
    run.steps = run.steps.push(step);
    run.index = run.index.set(spec.step_id, step.index);
    if (step.missing === 0) ready.push(step.index);
  }
  const { moving, blocked } = run.paces;
  run.paces = { ...run.paces, moving: moving + ready.length, blocked: blocked + inForce.steps.length - ready.length };
  run.fresh = [...run.fresh, ...ready];
  const { fallbacks, plans } = replanning;
  const left = answer_of === undefined ? fallbacks.slice(1) : fallbacks;
  run.replanning = { ...replanning, fallbacks: left, plans: plans + 1, inForce, from, rejected: rejectedCalls(run) };
  return holdActsOfReplacedPlans(run, from);
}

function toPlan(lean: LeanPlan): Plan {
  return { ...lean, steps: lean.steps.map(planStep) };
}

/** The acts before the new plan hold acts of their tools, as after a branch of a conversation. */
function holdActsOfReplacedPlans(run: MutableRun, from: number): MutableRun {
  const branch: BranchId = `${run.id}@${run.position}`;
  let { branchActs } = EMPTY_CONVERSATION;
  for (const step of run.steps) {
    if (step.index >= from) break;
    if (mayHaveActed(step) && !isUndoStep(step)) branchActs = branchActs.set(step.spec.step_id, branch);
  }
  if (branchActs.size > 0 || run.conversation !== null)
    run.conversation = { ...(run.conversation ?? EMPTY_CONVERSATION), branchActs };
  return run;
}

/** Returns the calls of the run that a person rejected. */
function rejectedCalls(run: Run): readonly RejectedCall[] {
  const rejected: RejectedCall[] = [];
  for (const [, { status, step_id, call, decided_by }] of run.gates) {
    if (status !== "rejected") continue;
    const tool = getStep(run, { step_id }).spec.name;
    rejected.push({ run_id: run.id, tool, digest: call.digest, key: call.key, by: decided_by ?? "" });
  }
  return rejected;
}
