import { pointerTo } from "../json/json-pointer.ts";
import { REASONS_MAX, type Reason } from "../json/problem-list.ts";
import type { CostEstimate } from "../limits/budget.ts";
import { isStatePointer } from "../state/state-access-order.ts";
import type { Mode } from "../values/effect.ts";
import type { StepId } from "../values/ids.ts";
import { findContradiction } from "./condition-contradiction.ts";
import type { Plan, PlanStep } from "./plan.ts";
import { type KnownTools, stateTools } from "./plan-context.ts";
import { type PlanLowerBounds, planLowerBounds } from "./plan-lower-bounds.ts";
import { dependentSteps, topologicalOrder } from "./step-graph.ts";

/** A result of a static check, as data that a model can repair a plan from. */
export interface PlanFinding {
  readonly code:
    | "INVALID"
    | "CAUTION"
    | "CONTRADICTION"
    | "UNSATISFIABLE"
    | "NEVER_STARTS"
    | "MODE_FORBIDS"
    | "FORBIDDEN"
    | "UNDECIDABLE"
    | "WRITE_CONFLICT"
    | "REPEATED_CALL"
    | "REPEATED_ACT"
    | "OVER_BUDGET"
    | "OVER_DEADLINE";
  /** error: the plan cannot complete as it is. warning: it may not do what its author means. */
  readonly severity: "error" | "warning";
  /** proven: it holds for every execution. heuristic: it is likely. */
  readonly proof: "proven" | "heuristic";
  /** A JSON pointer into the plan. */
  readonly path: string;
  readonly steps: readonly StepId[];
  readonly message: string;
}

/** The terms under which the plan would be submitted. */
export interface PlanTerms {
  readonly mode?: Mode;
  readonly deadlineMs?: number;
  /** The most that the run may cost. */
  readonly budget?: CostEstimate;
}

export interface PlanAnalysis {
  readonly findings: readonly PlanFinding[];
  readonly bounds: PlanLowerBounds;
}

/** A check does not know these facts without the principal that would submit the plan. */
const uncheckedRights = "policies, capabilities and roles of the principal, and whether a person can decide a gate";

/** A check does not know these facts although it knows the principal. */
const uncheckedRules =
  "rules about the moment or about values that are bound, and whether people have the roles of a gate";

/** The facts that no static check knows. */
export function uncheckedByPlan(knowsPrincipal: boolean): readonly string[] {
  return [...always, knowsPrincipal ? uncheckedRules : uncheckedRights];
}

const always: readonly string[] = [
  "values that bindings copy from outputs, and the fields of those outputs",
  "the state of the project when the run starts, and changes of other runs",
  "limits that other runs use up",
  "what handlers, verifiers and cost functions do",
];

/** Examines a valid plan without running it. The time is linear in the plan, but for its dependencies. */
export function analysePlan(plan: Plan, tools: KnownTools, terms: PlanTerms): PlanAnalysis {
  const bounds = planLowerBounds(plan, tools);
  const findings = [
    ...stepFindings(plan, tools, terms),
    ...blockedFindings(plan),
    ...unsatisfiableFindings(plan),
    ...writeFindings(plan, tools),
    ...repetitionFindings(plan, tools),
    ...boundFindings(bounds, terms),
  ];
  return { findings: findings.slice(0, REASONS_MAX), bounds };
}

export function findingsOf(reasons: readonly Reason[], code: "INVALID" | "CAUTION"): readonly PlanFinding[] {
  const severity = code === "INVALID" ? "error" : "warning";
  return reasons.map(({ path, message }) => ({ code, severity, proof: "proven", path, steps: [], message }));
}

function stepFindings({ steps }: Plan, tools: KnownTools, { mode }: PlanTerms): readonly PlanFinding[] {
  const forbidsActs = mode === "dry_run" || mode === "draft_only";
  return steps.flatMap((step, at): readonly PlanFinding[] => {
    const found: PlanFinding[] = [];
    const place = pointerTo("/steps", at);
    if (step.invalid !== null) found.push(error("INVALID", place, step, step.invalid.message));
    const clash = findContradiction(step.preconditions);
    if (clash !== null) found.push(error("CONTRADICTION", pointerTo(place, "preconditions"), step, clash));
    if (forbidsActs && (step.effect === "acts" || tools.get(step.name)?.effect === "acts"))
      found.push(error("MODE_FORBIDS", place, step, `${step.step_id} acts, and the mode ${mode} refuses acts`));
    return found;
  });
}

function error(code: PlanFinding["code"], path: string, { step_id }: PlanStep, message: string): PlanFinding {
  return { code, severity: "error", proof: "proven", path, steps: [step_id], message };
}

/** Steps behind a step that is certain to be rejected never start. */
function blockedFindings(plan: Plan): readonly PlanFinding[] {
  const dependents = dependentSteps(plan);
  const blocked = new Map<number, number>();
  const queue = plan.steps.flatMap((step, at) =>
    step.invalid !== null || findContradiction(step.preconditions) !== null ? [at] : [],
  );
  for (let at = queue.pop(); at !== undefined; at = queue.pop())
    for (const next of dependents[at] ?? []) {
      if (blocked.has(next)) continue;
      blocked.set(next, at);
      queue.push(next);
    }
  return [...blocked].map(([at, needed]) => {
    const step = plan.steps[at] as PlanStep;
    const message = `${step.step_id} needs ${plan.steps[needed]?.step_id}, which never succeeds`;
    return error("NEVER_STARTS", pointerTo("/steps", at), step, message);
  });
}

/** A condition on a place that an earlier step of the plan has set to another value. Other runs may change it again. */
function unsatisfiableFindings({ steps }: Plan): readonly PlanFinding[] {
  const known = new Map<string, { readonly by: StepId; readonly value: PlanStep["payload"][string] }>();
  const found: PlanFinding[] = [];
  for (const at of topologicalOrder(steps)) {
    const step = steps[at] as PlanStep;
    for (const condition of step.preconditions) {
      const set = "state" in condition ? known.get(condition.state) : undefined;
      if (set === undefined || !("state" in condition)) continue;
      const { operator: _, ...place } = condition;
      const clash = findContradiction([condition, { ...place, operator: "eq", value: set.value }]);
      if (clash === null) continue;
      const message = `${step.step_id} cannot start: ${set.by} sets ${condition.state}; ${clash}`;
      const where = pointerTo(pointerTo("/steps", at), "preconditions");
      found.push({ ...error("UNSATISFIABLE", where, step, message), proof: "heuristic" });
    }
    const { path, value } = step.payload;
    const isLiteral = step.name === stateTools.state_write && Object.keys(step.bindings).length === 0;
    if (isLiteral && typeof path === "string" && isStatePointer(path) && value !== undefined)
      known.set(path, { by: step.step_id, value });
    else if (step.effect === "writes" || step.effect === "acts") known.clear();
    for (const expected of step.expected_effects)
      known.set(expected.state, { by: step.step_id, value: expected.value });
  }
  return found;
}

/** Steps that write state without saying where are not ordered: of two that conflict, one runs again. */
function writeFindings({ sequential, steps }: Plan, tools: KnownTools): readonly PlanFinding[] {
  if (sequential) return [];
  const silent = steps.filter((step) => {
    const tool = tools.get(step.name);
    if (tool?.effect !== "writes" || step.name === stateTools.state_write) return false;
    return step.state_writes === null && tool.stateWrites === null;
  });
  const free = silent.filter(({ depends_on }) => !silent.some(({ step_id }) => depends_on.includes(step_id)));
  if (free.length < 2) return [];
  const names = free.slice(0, 10).map(({ step_id }) => step_id);
  const message = `${names.join(", ")} may write the same state at the same time; declare state_writes, or order them`;
  return [{ code: "WRITE_CONFLICT", severity: "warning", proof: "heuristic", path: "/steps", steps: names, message }];
}

const REPEATED = 3;

/** Equal calls: reads that may be a loop, and acts that one identity makes the same act. */
function repetitionFindings({ steps }: Plan, tools: KnownTools): readonly PlanFinding[] {
  const equal = new Map<string, PlanStep[]>();
  for (const step of steps) {
    if (tools.get(step.name) === undefined || step.name === stateTools.state_read) continue;
    const call = JSON.stringify([step.name, step.payload, step.bindings]);
    const known = equal.get(call);
    if (known === undefined) equal.set(call, [step]);
    else known.push(step);
  }
  return [...equal.values()].flatMap((same): readonly PlanFinding[] => {
    const [first] = same;
    if (first === undefined || same.length < 2) return [];
    const tool = tools.get(first.name);
    const names = same.map(({ step_id }) => step_id).slice(0, 10);
    const found = { severity: "warning", path: "/steps", steps: names } as const;
    if (tool?.effect === "acts" && tool.identity !== null && Object.keys(first.bindings).length === 0) {
      const message = `${names.join(", ")} are the same act of ${first.name}: it is done once, and the others reuse it`;
      return [{ ...found, code: "REPEATED_ACT", proof: "proven", message }];
    }
    if (same.length < REPEATED) return [];
    const message = `${same.length} equal calls of ${first.name}: ${names.join(", ")}; is this a loop?`;
    return [{ ...found, code: "REPEATED_CALL", proof: "heuristic", message }];
  });
}

function boundFindings({ ms, cost }: PlanLowerBounds, { deadlineMs, budget = {} }: PlanTerms): readonly PlanFinding[] {
  const whole = { severity: "error", proof: "proven", path: "/steps", steps: [] } as const;
  const found: PlanFinding[] = [];
  if (deadlineMs !== undefined && ms > deadlineMs) {
    const message = `the waits of the plan take ${ms} ms, and its deadline is ${deadlineMs} ms`;
    found.push({ ...whole, code: "OVER_DEADLINE", message });
  }
  for (const [unit, limit] of Object.entries(budget) as [keyof CostEstimate, number][]) {
    const least = cost[unit] ?? 0;
    if (least <= limit) continue;
    const message = `the calls cost at least ${least} ${unit} by the estimates of their tools, and the budget is ${limit}`;
    found.push({ ...whole, code: "OVER_BUDGET", proof: "heuristic", message });
  }
  return found;
}
