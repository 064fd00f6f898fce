import { isJsonObject, type Json, type JsonObject } from "../values/json.ts";
import type { Plan, PlanStep } from "./plan.ts";
import { type KnownTools, stepToolName } from "./plan-context.ts";
import { isPlanStepKind, stepKinds } from "./step-kinds.ts";

/**
 * Returns the steps whose child runs may act. The run of the plan does not know these acts, so a plan that another one
 * may replace has no such step.
 */
export function stepsWithActingChildRuns({ steps }: Plan, tools: KnownTools): readonly PlanStep[] {
  return steps.filter(({ kind, payload, bindings }) => {
    if (!stepKinds[kind].startsRun) return false;
    if (kind === "for_each") return mayAct(payload.each ?? null, tools);
    const isLiteral = !Object.keys(bindings).some((target) => !target.startsWith("/context"));
    return !isLiteral || mayActInPlan(payload.plan ?? null, tools);
  });
}

function mayActInPlan(plan: Json, tools: KnownTools): boolean {
  const steps = isJsonObject(plan) ? plan.steps : null;
  return !Array.isArray(steps) || (steps as readonly Json[]).some((step) => mayAct(step, tools));
}

/** A step that cannot be read here may act. */
function mayAct(step: Json, tools: KnownTools): boolean {
  if (!isJsonObject(step)) return true;
  const { kind = "operator", payload } = step;
  const name = stepToolName(step);
  if (typeof name === "string") return (tools.get(name)?.effect ?? "acts") === "acts";
  if (!isPlanStepKind(kind)) return true;
  if (!stepKinds[kind].startsRun) return false;
  const below = (isJsonObject(payload) ? payload : {}) as JsonObject;
  return kind === "for_each" ? mayAct(below.each ?? null, tools) : mayActInPlan(below.plan ?? null, tools);
}
