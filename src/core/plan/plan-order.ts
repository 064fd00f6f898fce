import { StepIndex } from "../persistent/step-index.ts";
import type { Plan } from "./plan.ts";
import { dependentSteps, topologicalOrder } from "./step-graph.ts";

/** Which steps of a plan wait for which. */
export interface PlanOrder {
  /** By step index, the indices of the steps that depend on it. Only steps of the plan have dependents. */
  readonly dependents: readonly (readonly number[])[];
  /** Null unless the steps of the plan run one after another. */
  readonly sequence: StepSequence | null;
}

export const NO_ORDER: PlanOrder = { dependents: [], sequence: null };

export function planOrder(plan: Pick<Plan, "sequential" | "steps">, index = StepIndex.of(plan.steps)): PlanOrder {
  return { dependents: dependentSteps(plan, index), sequence: stepSequence(plan) };
}

/** The order of the steps of a plan that runs them one after another. */
export interface StepSequence {
  /** The indices of all steps, in the order in which they run. */
  readonly order: readonly number[];
  /** By step index, the step that waits for the end of this step, however it ends. Null: none does. */
  readonly next: readonly (number | null)[];
  /** By step index, the step whose end this step waits for. */
  readonly previous: readonly (number | null)[];
}

/**
 * Returns the order of a sequential plan, or null for any other plan: plan order, except that a step comes after its
 * dependencies. A step that depends on the one before it waits for its success already.
 */
function stepSequence({ sequential, steps }: Pick<Plan, "sequential" | "steps">): StepSequence | null {
  if (!sequential) return null;
  const order = topologicalOrder(steps);
  const next: (number | null)[] = steps.map(() => null);
  const previous: (number | null)[] = steps.map(() => null);
  for (const [place, at] of order.entries()) {
    const before = order[place - 1];
    const id = before === undefined ? undefined : steps[before]?.step_id;
    if (before === undefined || id === undefined || steps[at]?.depends_on.includes(id)) continue;
    next[before] = at;
    previous[at] = before;
  }
  return { order, next, previous };
}

/** The order of a run to which a plan was added, and the number of steps that each added step waits for. */
interface ExtendedOrder {
  readonly order: PlanOrder;
  readonly missing: readonly number[];
}

/**
 * Adds a plan whose first step has the index `from`. The steps before it have ended: those that the plan needs have
 * succeeded, so it does not wait for them.
 */
export function extendOrder(
  { dependents, sequence }: PlanOrder,
  from: number,
  plan: Plan,
  index: StepIndex,
): ExtendedOrder {
  const own = StepIndex.of(plan.steps);
  const added = planOrder(plan, own);
  const before = Array.from({ length: from }, (_, at) => dependents[at] ?? []);
  for (const [at, { depends_on }] of plan.steps.entries())
    for (const id of depends_on) {
      const earlier = own.has(id) ? undefined : index.get(id);
      if (earlier !== undefined) before[earlier] = [...(before[earlier] ?? []), at + from];
    }
  const missing = plan.steps.map(({ depends_on }, at) => {
    const needed = depends_on.filter((id) => own.has(id)).length;
    return needed + Number((added.sequence?.previous[at] ?? null) !== null);
  });
  const order = {
    dependents: [...before, ...added.dependents.map((list) => list.map((at) => at + from))],
    sequence: joinSequences(sequence, added.sequence, { from, count: plan.steps.length }),
  };
  return { order, missing };
}

/** Steps of a plan that is not sequential, and steps that no plan has, follow in the order of the run. */
function joinSequences(
  before: StepSequence | null,
  added: StepSequence | null,
  { from, count }: { readonly from: number; readonly count: number },
): StepSequence | null {
  if (before === null && added === null) return null;
  const known = before?.order ?? [];
  const isKnown = new Set(known);
  const rest = Array.from({ length: from }, (_, at) => at).filter((at) => !isKnown.has(at));
  const tail = added?.order ?? Array.from({ length: count }, (_, at) => at);
  const shift = (at: number | null) => (at === null ? null : at + from);
  const none = Array.from({ length: count }, () => null);
  const pad = (list: readonly (number | null)[] = []) => Array.from({ length: from }, (_, at) => list[at] ?? null);
  return {
    order: [...known, ...rest, ...tail.map((at) => at + from)],
    next: [...pad(before?.next), ...(added?.next.map(shift) ?? none)],
    previous: [...pad(before?.previous), ...(added?.previous.map(shift) ?? none)],
  };
}
