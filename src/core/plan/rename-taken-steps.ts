import { canonicalJson } from "../json/canonical-json.ts";
import type { StepId } from "../values/ids.ts";
import type { Json, JsonObject } from "../values/json.ts";
import type { Condition, Plan, PlanStep } from "./plan.ts";

/**
 * Returns a plan that is added to a run as its plan number `number`. A step whose id is taken gets another one, such as
 * `mail@2`. An id that the plan uses names a step of the plan, or else an earlier step of the run.
 */
export function renameTakenSteps(plan: Plan, isTaken: (id: string) => boolean, number: number): Plan {
  const renamed = new Map<string, StepId>();
  for (const { step_id } of plan.steps) if (isTaken(step_id)) renamed.set(step_id, `${step_id}@${number}` as StepId);
  return renamed.size === 0 ? plan : renameSteps(plan, (id) => renamed.get(id) ?? id);
}

/** True if two plans make the same calls in the same order, whatever the ids of their steps. */
export function isSamePlan(one: Plan, other: Plan): boolean {
  return one.steps.length === other.steps.length && shapeOf(one) === shapeOf(other);
}

function shapeOf(plan: Plan): string {
  const places = new Map(plan.steps.map(({ step_id }, at) => [step_id, `#${at}` as StepId]));
  const { sequential = false, steps } = renameSteps(plan, (id) => places.get(id) ?? id);
  return canonicalJson({ sequential, steps } as unknown as Json);
}

function renameSteps(plan: Plan, rename: (id: StepId) => StepId): Plan {
  return { ...plan, steps: plan.steps.map((step) => renameStep(step, rename)) };
}

function renameStep(step: PlanStep, rename: (id: StepId) => StepId): PlanStep {
  const { step_id, kind, payload, depends_on, bindings, preconditions } = step;
  const isCondition = kind === "assertion" && step.invalid === null;
  return {
    ...step,
    step_id: rename(step_id),
    payload: isCondition ? (renameSource(payload as unknown as Condition, rename) as unknown as JsonObject) : payload,
    depends_on: depends_on.map(rename),
    bindings: Object.fromEntries(
      Object.entries(bindings).map(([target, source]) => [
        target,
        "step" in source ? { ...source, step: rename(source.step) } : source,
      ]),
    ),
    preconditions: preconditions.map((condition) => renameSource(condition, rename)),
  };
}

function renameSource(condition: Condition, rename: (id: StepId) => StepId): Condition {
  return "step" in condition ? { ...condition, step: rename(condition.step) } : condition;
}

/** Returns why the plan cannot continue a run, or null. Only a submission reads the outcomes of earlier runs. */
export function outcomeBindingProblem({ steps }: Plan): string | null {
  const bound = steps.find(({ bindings }) => Object.values(bindings).some((source) => "outcome" in source));
  if (bound === undefined) return null;
  return `${bound.step_id} is bound to an outcome of an earlier run, which only the plan of a submission can be`;
}
