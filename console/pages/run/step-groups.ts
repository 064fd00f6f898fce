import { type GraphNeeds, longestPathRanks } from "./graph-layout.ts";

/** A node of the drawing: one step, or steps that are drawn as one. */
export interface StepGroup {
  /** Stable while the plan is the same. */
  readonly id: string;
  readonly kind: "step" | "chain" | "rank";
  /** The first is that of the first step in the order of the plan. */
  readonly steps: readonly number[];
}

export interface GroupedGraph {
  readonly groups: readonly StepGroup[];
  readonly needs: GraphNeeds;
  /** By step, the index of its group. */
  readonly groupOf: Int32Array;
}

/** Above this number of steps, chains and steps of one rank and tool are drawn as one node until a reader opens it. */
export const FOLDED_ABOVE = 1500;

/** The ids of the groups that a reader has opened. */
export type OpenGroups = Pick<ReadonlySet<string>, "has">;

const LEAST_GROUP = 6;

/** Groups the steps of a large graph. A group in `open` is drawn step by step. */
export function groupSteps(
  needs: GraphNeeds,
  toolOf: (step: number) => string,
  open: OpenGroups = new Set(),
  foldedAbove = FOLDED_ABOVE,
): GroupedGraph {
  const single = needs.map((_, step): StepGroup => ({ id: `step:${step}`, kind: "step", steps: [step] }));
  if (needs.length <= foldedAbove) return toGraph(needs, single);
  const chains = openGroups(foldChains(needs), open);
  const chained = toGraph(needs, chains);
  return toGraph(needs, openGroups(foldRanks(chained, toolOf), open));
}

/** Joins steps that follow each other without a branch. */
function foldChains(needs: GraphNeeds): readonly StepGroup[] {
  const dependents = new Int32Array(needs.length);
  const next = new Int32Array(needs.length).fill(-1);
  for (const [step, list] of needs.entries())
    for (const needed of list) {
      dependents[needed] = (dependents[needed] as number) + 1;
      next[needed] = step;
    }
  const follows = (step: number): boolean => {
    const [needed] = needs[step] as readonly number[];
    return needs[step]?.length === 1 && needed !== undefined && dependents[needed] === 1;
  };
  const groups: StepGroup[] = [];
  for (let step = 0; step < needs.length; step += 1) {
    if (follows(step)) continue;
    const steps = [step];
    for (let last = step; dependents[last] === 1 && follows(next[last] as number); last = steps.at(-1) as number)
      steps.push(next[last] as number);
    groups.push({ id: `chain:${step}`, kind: steps.length === 1 ? "step" : "chain", steps });
  }
  return groups;
}

/** Joins single steps of one rank that call one tool. */
function foldRanks({ groups, needs }: GroupedGraph, toolOf: (step: number) => string): readonly StepGroup[] {
  const ranks = longestPathRanks(needs);
  const joined = new Map<string, number[]>();
  const kept: StepGroup[] = [];
  for (const [at, group] of groups.entries()) {
    if (group.kind !== "step") {
      kept.push(group);
      continue;
    }
    const [step] = group.steps as readonly [number];
    const id = `rank:${ranks[at]}:${toolOf(step)}`;
    const steps = joined.get(id);
    if (steps === undefined) joined.set(id, [step]);
    else steps.push(step);
  }
  for (const [id, steps] of joined) kept.push({ id, kind: "rank", steps });
  return kept;
}

/** Replaces groups that are open or small by their steps, and orders the groups by their first step. */
function openGroups(groups: readonly StepGroup[], open: OpenGroups): readonly StepGroup[] {
  return groups
    .flatMap((group) =>
      group.steps.length >= LEAST_GROUP && !open.has(group.id)
        ? [group]
        : group.steps.map((step): StepGroup => ({ id: `step:${step}`, kind: "step", steps: [step] })),
    )
    .sort((one, two) => (one.steps[0] as number) - (two.steps[0] as number));
}

function toGraph(needs: GraphNeeds, groups: readonly StepGroup[]): GroupedGraph {
  const groupOf = new Int32Array(needs.length);
  for (const [at, { steps }] of groups.entries()) for (const step of steps) groupOf[step] = at;
  const joined = groups.map(({ steps }, at) => {
    const found = new Set<number>();
    for (const step of steps) for (const needed of needs[step] ?? []) found.add(groupOf[needed] as number);
    found.delete(at);
    return [...found];
  });
  return { groups, needs: joined, groupOf };
}
