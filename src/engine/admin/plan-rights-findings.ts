import { isUnmeetable } from "../../core/approval/approval-demand.ts";
import type { Principal } from "../../core/approval/principal.ts";
import { evaluateGuards, type Verdict } from "../../core/call/guard.ts";
import type { PlanFinding } from "../../core/plan/analyse-plan.ts";
import type { Plan, PlanStep } from "../../core/plan/plan.ts";
import { stepKinds } from "../../core/plan/step-kinds.ts";
import { emptyRun, type Run } from "../../core/run/run.ts";
import { newStep } from "../../core/run/step.ts";
import { worseEffect } from "../../core/values/effect.ts";
import type { RunId } from "../../core/values/ids.ts";
import { capabilityGuard } from "../../policy/guards/capability-guard.ts";
import { planSizeGuard } from "../../policy/guards/plan-size-guard.ts";
import { policyGuard } from "../../policy/guards/policy-guard.ts";
import { rolesGuard } from "../../policy/guards/roles-guard.ts";
import type { CheckOptions } from "../api/check-api.ts";
import { makeProposal } from "../call/make-proposal.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

/** The principal that would submit the plan, and where. */
type Submission = { readonly principal: Principal } & Pick<CheckOptions, "project" | "session" | "mode">;

/**
 * Returns the steps that the rights of the principal or the policies of now refuse, and those whose gate no people can
 * decide. Rules that depend on the moment or on bound values are not judged.
 */
export function planRightsFindings(ports: WorkerPorts, plan: Plan, submission: Submission): readonly PlanFinding[] {
  const { principal, project = null, session = null, mode } = submission;
  const run: Run = {
    ...emptyRun("run_check" as RunId, principal.tenant),
    ...(mode !== undefined && { mode }),
    principal,
    project,
    session,
    plan,
  };
  return plan.steps.flatMap((spec, index) => {
    if (!stepKinds[spec.kind].callsTool || spec.invalid !== null) return [];
    const finding = stepFinding(ports, run, spec, index);
    return finding === null ? [] : [finding];
  });
}

function stepFinding(ports: WorkerPorts, run: Run, spec: PlanStep, index: number): PlanFinding | null {
  const about = { severity: "error", path: `/steps/${index}`, steps: [spec.step_id] } as const;
  const ofPrincipal = judge(ports, run, spec, index, [capabilityGuard, rolesGuard]);
  if (ofPrincipal.kind === "refuse")
    return { code: "FORBIDDEN", proof: "proven", message: ofPrincipal.fault.message, ...about };
  if (Object.keys(spec.bindings).length > 0) return null;
  const verdict = judge(ports, run, spec, index, [planSizeGuard, policyGuard]);
  if (verdict.kind === "refuse")
    return { code: "FORBIDDEN", proof: "heuristic", message: verdict.fault.message, ...about };
  if (verdict.kind !== "hold" || !isUnmeetable(verdict.demand, run.principal.id)) return null;
  const message = `${verdict.rule} holds ${spec.step_id} for people that it does not name often enough, so its gate stays open until it expires`;
  return { code: "UNDECIDABLE", proof: "heuristic", message, ...about };
}

function judge(
  ports: WorkerPorts,
  run: Run,
  spec: PlanStep,
  index: number,
  guards: Parameters<typeof evaluateGuards>[0],
): Verdict {
  const step = newStep(index, spec, null, null, 0);
  const proposal = makeProposal(ports, run, step, { call: false });
  const effect = proposal.tool === null ? spec.effect : worseEffect(spec.effect, proposal.tool.effect);
  const [now, policy] = [ports.clock.now(), ports.policies.of(run)];
  const admission = { run, step, proposal, effect, now, policy, closure: null, conditions: [], recorded: true };
  return evaluateGuards(guards, admission);
}
