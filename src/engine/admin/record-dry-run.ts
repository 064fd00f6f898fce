import type { Principal } from "../../core/approval/principal.ts";
import { requestKey } from "../../core/evolve/event-rows.ts";
import { leanPlan, type Plan, planLimits } from "../../core/plan/plan.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { RunId } from "../../core/values/ids.ts";
import type { SubmitOptions } from "../api/engine-api.ts";
import { labelFields } from "../api/label-problems.ts";
import { newRun } from "../journal/load-run.ts";
import { RunMailbox } from "../journal/run-mailbox.ts";
import type { ReplacementPlans } from "../messages/replacement-plans.ts";
import { dryRunError, readSubmission, type SubmittedRun } from "../messages/submit-run.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { simulatePlan } from "./simulate-plan.ts";

/**
 * Simulates a plan and records what it would do as a run that has ended: one append, and nothing else is written, called
 * or charged. It uses up no request key, so the same request can be made in earnest later.
 */
export async function recordDryRun(
  ports: WorkerPorts,
  plan: Plan,
  principal: Principal,
  options: SubmitOptions & ReplacementPlans & Required<Pick<SubmitOptions, "context">>,
): Promise<SubmittedRun> {
  assertOnePlan(options);
  const submission = await readSubmission(ports, principal, plan, options);
  const { request, scope } = submission;
  const key = request && requestKey(principal.id, request.key, scope);
  if (key !== null && (await ports.store.row(principal.tenant, "request", key)) !== null)
    throw await dryRunError(ports, principal, submission);
  const simulation = await simulatePlan(ports, plan, principal, options, noLiveReads);
  if (Buffer.byteLength(JSON.stringify(simulation)) > planLimits.bytes) {
    const message = `the report of the dry run is larger than ${planLimits.bytes} bytes; use simulate, which records nothing`;
    throw new FaultError(fault("LIMIT_EXCEEDED", message));
  }
  const now = ports.clock.now();
  const id = ports.newId("run", now) as RunId;
  const { project, session, correlationId = id, traceId = id, context } = options;
  const mailbox = new RunMailbox(ports, newRun(principal.tenant, id), null);
  ports.failpoint("accept.before");
  await mailbox.ask(() => ({
    type: "accept",
    now,
    run_id: id,
    origin: id,
    principal,
    mode: "dry_run",
    plan: null,
    context,
    request: null,
    tools: {},
    deadline_at: null,
    ...(project !== undefined && { project }),
    ...(session !== undefined && { session }),
    ...labelFields(options),
    correlation_id: correlationId,
    trace_id: traceId,
    simulated: { plan: leanPlan(plan), simulation },
  }));
  ports.failpoint("accept.after");
  return { id, attached: false, ended: mailbox.run };
}

/** A dry run says what one plan would do: what a replanner would answer is not known. */
function assertOnePlan({ replan, fallbacks = [], retryFailed }: SubmitOptions & ReplacementPlans): void {
  const given = [
    ...(replan === undefined ? [] : ["replan"]),
    ...(fallbacks.length === 0 ? [] : ["fallbacks"]),
    ...(retryFailed ? ["retryFailed"] : []),
  ];
  if (given.length === 0) return;
  const message = `a dry run simulates one plan and retries no run; submit it without ${given.join(" and ")}`;
  throw new FaultError(fault("INVALID_INPUT", message));
}

async function noLiveReads(): Promise<never> {
  throw new FaultError(fault("NOT_POSSIBLE", "a dry run makes no live reads"));
}
