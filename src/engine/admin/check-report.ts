import { estimateProblems } from "../../core/limits/budget.ts";
import { checkPlan, type PlanRules } from "../../core/plan/check-plan.ts";
import { analysePlan, findingsOf, type PlanTerms, uncheckedByPlan } from "../../core/plan/plan-findings.ts";
import { modes } from "../../core/values/effect.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { PlanReport } from "../api/check-api.ts";

/** Throws INVALID_INPUT unless the terms can be compared with a plan. */
function assertTerms({ mode, deadlineMs, budget = {} }: PlanTerms): void {
  const problems = estimateProblems(budget).map((problem) => problem.replace("cost", "budget"));
  if (mode !== undefined && !modes.includes(mode)) problems.push(`mode must be one of ${modes.join(", ")}`);
  if (deadlineMs !== undefined && !Number.isFinite(deadlineMs)) problems.push("deadlineMs must be a number");
  if (problems.length > 0) throw new FaultError(fault("INVALID_INPUT", problems.join("; "), { reasons: problems }));
}

/** Checks a plan and examines it, without running it. */
export function checkReport(plan: unknown, rules: PlanRules, terms: PlanTerms): PlanReport {
  assertTerms(terms);
  const unchecked = uncheckedByPlan;
  const checked = checkPlan(plan, rules);
  if (!checked.ok) {
    const { reasons } = checked;
    return { ok: false, reasons, warnings: [], findings: findingsOf(reasons, "INVALID"), bounds: null, unchecked };
  }
  const { warnings } = checked;
  const { findings, bounds } = analysePlan(checked.plan, rules.tools, terms);
  const all = [...findingsOf(warnings, "CAUTION"), ...findings];
  return { ok: true, reasons: [], warnings, findings: all, bounds, unchecked };
}
