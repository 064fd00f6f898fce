import { type CostEstimate, estimatedUnits } from "../limits/budget.ts";
import type { Plan, PlanStep } from "./plan.ts";
import type { KnownTools } from "./plan-context.ts";
import { topologicalOrder } from "./step-graph.ts";

/** The least depth, time and cost of a plan. */
export interface PlanLowerBounds {
  /** The number of steps on its longest chain of dependencies. */
  readonly depth: number;
  /** The longest chain of waits with a time, in milliseconds. */
  readonly ms: number;
  /** The sum of the estimates of the calls whose input is known. */
  readonly cost: CostEstimate;
  /** The number of calls whose cost is not known in advance. */
  readonly unknown_costs: number;
}

export function planLowerBounds(plan: Plan, tools: KnownTools): PlanLowerBounds {
  const chains = longestChains(plan);
  const cost: Record<string, number> = {};
  let unknown_costs = 0;
  for (const step of plan.steps) {
    const estimate = estimateOf(step, tools);
    if (estimate === null) unknown_costs += 1;
    for (const unit of estimatedUnits) {
      const amount = estimate?.[unit];
      if (amount !== undefined) cost[unit] = (cost[unit] ?? 0) + amount;
    }
  }
  return { ...chains, cost, unknown_costs };
}

/** Null: the tool has no estimate, or its input is not known. A step that may fail may also cost nothing. */
function estimateOf({ name, payload, bindings }: PlanStep, tools: KnownTools): CostEstimate | null {
  const tool = tools.get(name);
  if (tool === undefined || tool.effect === "pure") return {};
  if (tool.cost === null || Object.keys(bindings).length > 0) return null;
  try {
    return tool.cost(payload);
  } catch {
    return null;
  }
}

function longestChains({ steps, sequential }: Plan): Pick<PlanLowerBounds, "depth" | "ms"> {
  const ends = new Map<string, { readonly depth: number; readonly ms: number }>();
  let most = { depth: 0, ms: 0 };
  for (const at of topologicalOrder(steps)) {
    const step = steps[at] as PlanStep;
    const before = step.depends_on.map((id) => ends.get(id) ?? { depth: 0, ms: 0 });
    if (sequential) before.push(most);
    const depth = 1 + before.reduce((deepest, each) => Math.max(deepest, each.depth), 0);
    const ms = waitMs(step) + before.reduce((longest, each) => Math.max(longest, each.ms), 0);
    ends.set(step.step_id, { depth, ms });
    most = { depth: Math.max(most.depth, depth), ms: Math.max(most.ms, ms) };
  }
  return most;
}

/** A signal may end a wait early. */
function waitMs({ kind, payload, bindings }: PlanStep): number {
  const isFixed = kind === "wait" && payload.signal === undefined && Object.keys(bindings).length === 0;
  return isFixed && typeof payload.ms === "number" ? payload.ms : 0;
}
