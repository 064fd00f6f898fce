import { FaultError, fault } from "../values/fault.ts";
import { isJsonObject, type Json, sameJson } from "../values/json.ts";
import type { PlanInput, PlanStepInput } from "./plan-input.ts";
import { findCycles } from "./step-graph.ts";

/** Returns the plan without the `depends_on` that other dependencies of its steps imply. The order stays the same. */
export function optimizePlan(plan: PlanInput): PlanInput {
  const needed = neededSteps(plan.steps);
  const steps = plan.steps.map((step, at) => {
    if (step.depends_on === undefined) return step;
    const used = impliedByUse(step);
    const kept = step.depends_on.filter((id) => needed[at]?.has(id) && !used.has(id));
    const { depends_on: _, ...rest } = step;
    return kept.length === 0 ? rest : { ...step, depends_on: kept };
  });
  return { ...plan, steps };
}

/** True if both plans make the same calls in the same order of dependencies, whatever the order of their lists. */
export function equivalentPlans(one: PlanInput, other: PlanInput): boolean {
  if (one.steps.length !== other.steps.length || (one.sequential ?? false) !== (other.sequential ?? false))
    return false;
  if (one.sequential && one.steps.some(({ step_id }, at) => other.steps[at]?.step_id !== step_id)) return false;
  const [left, right] = [neededSteps(one.steps), neededSteps(other.steps)];
  const places = new Map(other.steps.map(({ step_id }, at) => [step_id, at]));
  return one.steps.every((step, at) => {
    const place = places.get(step.step_id);
    const twin = place === undefined ? undefined : other.steps[place];
    if (place === undefined || twin === undefined) return false;
    const needs = (set: ReadonlySet<string> | undefined) => [...(set ?? [])].sort().join(" ");
    return needs(left[at]) === needs(right[place]) && sameJson(withoutOrder(step), withoutOrder(twin));
  });
}

function withoutOrder({ depends_on: _, ...rest }: PlanStepInput): Json {
  return rest as unknown as Json;
}

/** Returns the steps whose outputs the step uses, so that it depends on them anyway. */
function impliedByUse({ kind, payload = {}, bindings = {}, preconditions = [] }: PlanStepInput): ReadonlySet<string> {
  const used = [...Object.values(bindings), ...preconditions, ...(kind === "assertion" ? [payload] : [])];
  return new Set(
    used.flatMap((source) => (isJsonObject(source as Json) && "step" in source ? [String(source.step)] : [])),
  );
}

/**
 * Returns the dependencies of each step that no other dependency implies. The memory is one bit per pair of steps.
 */
function neededSteps(steps: readonly PlanStepInput[]): readonly ReadonlySet<string>[] {
  const index = new Map(steps.map(({ step_id }, at) => [step_id, at]));
  const needs = steps.map((step) => {
    const ids = [...(step.depends_on ?? []), ...impliedByUse(step)];
    return [...new Set(ids)].map((id) => index.get(id)).filter((at) => at !== undefined);
  });
  if (findCycles(needs).length > 0) throw new FaultError(fault("PLAN_INVALID", "the steps of the plan form a cycle"));
  const above = new Map<number, Int32Array>();
  return steps.map((_, at) => {
    const direct = needs[at] as readonly number[];
    const implied = new Int32Array((steps.length + 31) >>> 5);
    for (const each of direct) merge(implied, reachable(each, needs, above, steps.length));
    return new Set(direct.filter((each) => !has(implied, each)).map((each) => (steps[each] as PlanStepInput).step_id));
  });
}

/** Returns all steps that a step needs, directly or through others. */
function reachable(
  start: number,
  needs: readonly (readonly number[])[],
  known: Map<number, Int32Array>,
  count: number,
): Int32Array {
  const stack = [start];
  for (let at = stack.at(-1); at !== undefined; at = stack.at(-1)) {
    const missing = (needs[at] as readonly number[]).filter((each) => !known.has(each));
    if (known.has(at) || missing.length > 0) {
      if (known.has(at)) stack.pop();
      else stack.push(...missing);
      continue;
    }
    const set = new Int32Array((count + 31) >>> 5);
    for (const each of needs[at] as readonly number[]) {
      merge(set, known.get(each) as Int32Array);
      set[each >>> 5] = (set[each >>> 5] as number) | (1 << (each & 31));
    }
    known.set(at, set);
    stack.pop();
  }
  return known.get(start) as Int32Array;
}

function merge(into: Int32Array, from: Int32Array): void {
  for (let word = 0; word < from.length; word += 1) into[word] = (into[word] as number) | (from[word] as number);
}

function has(set: Int32Array, at: number): boolean {
  return ((set[at >>> 5] as number) & (1 << (at & 31))) !== 0;
}
