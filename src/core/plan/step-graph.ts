import { StepIndex } from "../persistent/step-index.ts";
import type { Plan, PlanStep } from "./plan.ts";

/** Returns, for the index of each step, the indices of the steps of the plan that depend on it. */
export function dependentSteps(
  { steps }: Pick<Plan, "steps">,
  index = StepIndex.of(steps),
): readonly (readonly number[])[] {
  return reverseEdges(steps.map((step) => ownNeeds(step, index)));
}

/** A plan that is added to a run may also need earlier steps of the run, which have ended. */
function ownNeeds({ depends_on }: PlanStep, index: StepIndex): readonly number[] {
  return depends_on.map((needed) => index.get(needed)).filter((at) => at !== undefined);
}

/** Returns the indices of the steps, each after its dependencies and otherwise in plan order. The plan has no cycle. */
export function topologicalOrder(steps: Plan["steps"]): readonly number[] {
  const index = StepIndex.of(steps);
  const placed = new Set<number>();
  const missing = (at: number) => ownNeeds(steps[at] as PlanStep, index).filter((need) => !placed.has(need));
  const next = [...steps.keys()].reverse();
  for (let at = next.at(-1); at !== undefined; at = next.at(-1)) {
    const first = placed.has(at) ? [] : missing(at);
    if (first.length === 0) placed.add(next.pop() as number);
    else next.push(...first.reverse());
  }
  return [...placed];
}

/**
 * Returns cycles in a graph of dependencies, given as indices; none exactly if a topological order exists. Each is a
 * list of indices that ends where it began; of cycles that share a node one is returned. Linear in nodes and edges.
 */
export function findCycles(needs: Needs): readonly (readonly number[])[] {
  const remaining = nodesInCycles(needs);
  // Each remaining node depends on another remaining node, so following the dependencies always ends in a cycle.
  const next = new Map(Array.from(remaining, (at) => [at, needs[at]?.find((need) => remaining.has(need)) as number]));
  const visitedFrom = new Map<number, number>();
  const found: (readonly number[])[] = [];
  for (const start of remaining) {
    let at = start;
    for (; !visitedFrom.has(at); at = next.get(at) as number) visitedFrom.set(at, start);
    if (visitedFrom.get(at) === start) found.push(cycleThrough(at, next));
  }
  return found;
}

type Needs = readonly (readonly number[])[];

function cycleThrough(start: number, next: ReadonlyMap<number, number>): readonly number[] {
  const cycle = [start];
  for (let at = next.get(start) as number; at !== start; at = next.get(at) as number) cycle.push(at);
  return [...cycle, start];
}

/** Returns the nodes that remain after repeatedly removing every node without dependencies. */
function nodesInCycles(needs: Needs): ReadonlySet<number> {
  const waiting = reverseEdges(needs);
  const missing = needs.map((list) => list.length);
  const ready = [...needs.keys()].filter((at) => missing[at] === 0);
  const remaining = new Set(needs.keys());
  for (let at = ready.pop(); at !== undefined; at = ready.pop()) {
    remaining.delete(at);
    for (const next of waiting[at] as readonly number[]) {
      const count = (missing[next] as number) - 1;
      missing[next] = count;
      if (count === 0) ready.push(next);
    }
  }
  return remaining;
}

function reverseEdges(needs: Needs): Needs {
  const waiting: number[][] = needs.map(() => []);
  for (const [at, list] of needs.entries()) {
    for (const need of list) {
      const known = waiting[need] as number[];
      // Pushing to an empty list reserves room for 17.
      if (known.length === 0) waiting[need] = [at];
      else known.push(at);
    }
  }
  return waiting;
}
