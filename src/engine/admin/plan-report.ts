import { REASONS_MAX } from "../../core/json/problem-list.ts";
import { estimateProblems } from "../../core/limits/budget.ts";
import { analysePlan, findingsOf, type PlanTerms, uncheckedByPlan } from "../../core/plan/analyse-plan.ts";
import { checkPlan, type PlanRules } from "../../core/plan/check-plan.ts";
import { modes } from "../../core/values/effect.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { CheckOptions, PlanReport } from "../api/check-api.ts";
import { readPrincipal } from "../api/read-principal.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { planRightsFindings } from "./plan-rights-findings.ts";

/** Throws INVALID_INPUT unless the terms can be compared with a plan. */
function assertTerms({ mode, deadlineMs, budget = {} }: PlanTerms): void {
  const problems = estimateProblems(budget).map((problem) => problem.replace("cost", "budget"));
  if (mode !== undefined && !modes.includes(mode)) problems.push(`mode must be one of ${modes.join(", ")}`);
  if (deadlineMs !== undefined && !Number.isFinite(deadlineMs)) problems.push("deadlineMs must be a number");
  if (problems.length > 0) throw new FaultError(fault("INVALID_INPUT", problems.join("; "), { reasons: problems }));
}

/** Checks a plan and examines it, without running it. With a principal, its rights and the policies are judged, too. */
export function planReport(
  ports: WorkerPorts,
  plan: unknown,
  rules: PlanRules,
  { principal: given, project, session, ...terms }: Omit<CheckOptions, "context">,
): PlanReport {
  assertTerms(terms);
  const principal = given === undefined ? null : readPrincipal(given);
  const unchecked = uncheckedByPlan(principal !== null);
  const checked = checkPlan(plan, rules);
  if (!checked.ok) {
    const { reasons } = checked;
    return { ok: false, reasons, warnings: [], findings: findingsOf(reasons, "INVALID"), bounds: null, unchecked };
  }
  const { warnings } = checked;
  const { findings, bounds } = analysePlan(checked.plan, rules.tools, terms);
  const place = { ...(project !== undefined && { project }), ...(session !== undefined && { session }) };
  const mode = terms.mode === undefined ? {} : { mode: terms.mode };
  const rights = principal === null ? [] : planRightsFindings(ports, checked.plan, { principal, ...place, ...mode });
  const all = [...findingsOf(warnings, "CAUTION"), ...findings, ...rights].slice(0, REASONS_MAX);
  return { ok: true, reasons: [], warnings, findings: all, bounds, unchecked };
}
