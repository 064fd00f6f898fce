import { StepIndex } from "../persistent/step-index.ts";
import type { Plan, PlanStep } from "./plan.ts";

/** For each step by its index, the indices of the steps that wait for it. */
export function dependents(
  { steps }: Pick<Plan, "steps">,
  index = StepIndex.of(steps),
): readonly (readonly number[])[] {
  return reversed(steps.map((step) => step.depends_on.map((needed) => index.get(needed) as number)));
}

/** The indices of steps, each behind those it needs, and as far as that goes in the order of the plan. There is no cycle. */
export function arranged(steps: Plan["steps"]): readonly number[] {
  const index = StepIndex.of(steps);
  const placed = new Set<number>();
  const missing = (at: number) =>
    (steps[at] as PlanStep).depends_on.map((id) => index.get(id) as number).filter((need) => !placed.has(need));
  const next = [...steps.keys()].reverse();
  for (let at = next.at(-1); at !== undefined; at = next.at(-1)) {
    const first = placed.has(at) ? [] : missing(at);
    if (first.length === 0) placed.add(next.pop() as number);
    else next.push(...first.reverse());
  }
  return [...placed];
}

/**
 * Cycles among nodes that need others, given as indices; there is none exactly if everything can be put in order. Each
 * is a list of indices that ends where it began; of cycles that share a node one is told. Linear in nodes and edges.
 */
export function cycles(needs: Needs): readonly (readonly number[])[] {
  const stuck = stuckIn(needs);
  // Whoever is stuck needs someone who is stuck, so following the needs always ends in a cycle.
  const next = new Map(Array.from(stuck, (at) => [at, needs[at]?.find((need) => stuck.has(need)) as number]));
  const walks = new Map<number, number>();
  const found: (readonly number[])[] = [];
  for (const start of stuck) {
    let at = start;
    for (; !walks.has(at); at = next.get(at) as number) walks.set(at, start);
    if (walks.get(at) === start) found.push(cycleThrough(at, next));
  }
  return found;
}

type Needs = readonly (readonly number[])[];

function cycleThrough(start: number, next: ReadonlyMap<number, number>): readonly number[] {
  const cycle = [start];
  for (let at = next.get(start) as number; at !== start; at = next.get(at) as number) cycle.push(at);
  return [...cycle, start];
}

/** What is left when everything that needs nothing is taken away, again and again. */
function stuckIn(needs: Needs): ReadonlySet<number> {
  const waiting = reversed(needs);
  const missing = needs.map((list) => list.length);
  const ready = [...needs.keys()].filter((at) => missing[at] === 0);
  const stuck = new Set(needs.keys());
  for (let at = ready.pop(); at !== undefined; at = ready.pop()) {
    stuck.delete(at);
    for (const next of waiting[at] as readonly number[]) {
      const left = (missing[next] as number) - 1;
      missing[next] = left;
      if (left === 0) ready.push(next);
    }
  }
  return stuck;
}

function reversed(needs: Needs): Needs {
  const waiting: number[][] = needs.map(() => []);
  for (const [at, list] of needs.entries()) {
    for (const need of list) (waiting[need] as number[]).push(at);
  }
  return waiting;
}
