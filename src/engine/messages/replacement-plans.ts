import type { ReplanTerms } from "../../core/event/replan.ts";
import type { Reason } from "../../core/json/problem-list.ts";
import type { CheckedPlan } from "../../core/plan/check-plan.ts";
import type { Plan } from "../../core/plan/plan.ts";
import type { PlanCache } from "../../core/plan/plan-cache.ts";
import type { KnownTools } from "../../core/plan/plan-context.ts";
import { outcomeBindingProblem, renameTakenSteps } from "../../core/plan/rename-taken-steps.ts";
import { stepsWithActingChildRuns } from "../../core/plan/steps-with-acting-child-runs.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { JsonObject } from "../../core/values/json.ts";
import { type ReplanOptions, replanLimits } from "../api/replan-options.ts";
import { hiddenActsText } from "../call/read-replan-answer.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

/** The plans that may continue a run whose plan does not complete. */
export interface ReplacementPlans {
  readonly replan?: ReplanTerms;
  readonly fallbacks?: readonly Plan[];
}

/** Reads the replanner of a submission. Throws INVALID_INPUT with all reasons. */
export function readReplanTerms({ toolbox }: WorkerPorts, replan: ReplanOptions["replan"]): ReplacementPlans {
  if (replan === undefined) return {};
  const problems: string[] = [];
  const terms = readTerms(replan, problems);
  const tool = terms === null ? undefined : toolbox.callable.get(terms.by);
  if (terms !== null && tool === undefined)
    problems.push(`replan.by: no tool ${JSON.stringify(terms.by)} is registered here; make one with defineReplanner`);
  if (tool !== undefined && tool.effect !== "reads" && tool.effect !== "pure")
    problems.push(`replan.by: ${tool.name} has the effect ${tool.effect}; a replanner only reads`);
  if (terms !== null && problems.length === 0) return { replan: terms };
  throw new FaultError(
    fault("INVALID_INPUT", `the request was refused: ${problems.join("; ")}`, { reasons: problems }),
  );
}

function readTerms(given: unknown, problems: string[]): ReplanTerms | null {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    problems.push("replan must be an object with by, and attempts and delayMs");
    return null;
  }
  const { by, attempts = 1, delayMs = 0, ...rest } = given as Record<string, unknown>;
  for (const name of Object.keys(rest)) problems.push(`replan has no field ${name}; use by, attempts and delayMs`);
  if (!isWhole(attempts, 1, replanLimits.attempts))
    problems.push(`replan.attempts must be a whole number, 1 to ${replanLimits.attempts}`);
  if (!isWhole(delayMs, 0, replanLimits.delayMs))
    problems.push(`replan.delayMs must be a whole number of milliseconds, 0 to ${replanLimits.delayMs}`);
  if (typeof by === "string")
    return { by, attempts: Number(attempts), ...(delayMs !== 0 && { delay_ms: Number(delayMs) }) };
  problems.push("replan.by must be the name of a tool");
  return null;
}

function isWhole(value: unknown, least: number, most: number): boolean {
  return Number.isInteger(value) && Number(value) >= least && Number(value) <= most;
}

type CheckedPlans =
  | { readonly ok: true; readonly plan: Plan; readonly fallbacks: readonly Plan[] }
  | Extract<CheckedPlan, { ok: false }>;

interface PlanTerms {
  readonly context: JsonObject;
  readonly replan: ReplacementPlans;
  readonly tools: KnownTools;
}

/** Checks a plan and its fallback plans. The steps of each get ids that no plan before it has. */
export function checkWithFallbacks(
  plans: PlanCache,
  plan: unknown,
  given: readonly unknown[] | undefined,
  { context, replan, tools }: PlanTerms,
): CheckedPlans {
  const first = plans.check(plan, context);
  const isReplaceable = given !== undefined || replan.replan !== undefined;
  if (first.ok && first.plan.atomicity === "plan" && isReplaceable) return { ok: false, reasons: [atomicReason("")] };
  const hidden = first.ok && isReplaceable ? stepsWithActingChildRuns(first.plan, tools) : [];
  if (hidden.length > 0) return { ok: false, reasons: [{ path: "/steps", message: hiddenActsText(hidden) }] };
  if (!first.ok || given === undefined) return first.ok ? { ok: true, plan: first.plan, fallbacks: [] } : first;
  if (!Array.isArray(given) || given.length > replanLimits.fallbacks)
    throw new FaultError(fault("INVALID_INPUT", `fallbacks must be a list of at most ${replanLimits.fallbacks} plans`));
  const taken = new Set<string>(first.plan.steps.map(({ step_id }) => step_id));
  const fallbacks: Plan[] = [];
  const reasons: Reason[] = [];
  for (const [at, raw] of given.entries()) {
    const checked = plans.check(raw, context);
    if (!checked.ok) {
      for (const { path, message } of checked.reasons) reasons.push({ path: `/fallbacks/${at}${path}`, message });
      continue;
    }
    const hiddenHere = stepsWithActingChildRuns(checked.plan, tools);
    if (hiddenHere.length > 0) reasons.push({ path: `/fallbacks/${at}/steps`, message: hiddenActsText(hiddenHere) });
    if (checked.plan.atomicity === "plan") reasons.push(atomicReason(`/fallbacks/${at}`));
    const bound = outcomeBindingProblem(checked.plan);
    if (bound !== null) reasons.push({ path: `/fallbacks/${at}/steps`, message: bound });
    const named = renameTakenSteps(checked.plan, (id) => taken.has(id), at + 2);
    for (const { step_id } of named.steps) taken.add(step_id);
    fallbacks.push(named);
  }
  return reasons.length > 0 ? { ok: false, reasons } : { ok: true, plan: first.plan, fallbacks };
}

/** A run that was rolled back is never continued, so an atomic plan is the only plan of its run. */
function atomicReason(place: string): Reason {
  return {
    path: `${place}/atomicity`,
    message: "an atomic plan has no other plan after it; submit it without replan and fallbacks",
  };
}
