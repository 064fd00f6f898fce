import type { Principal } from "../../core/approval/principal.ts";
import { evaluateGuards, type Policy } from "../../core/call/guard.ts";
import type { Intent, RecordedIntent, Request } from "../../core/event/signal.ts";
import { oldRequestKey, type RequestScope } from "../../core/evolve/event-rows.ts";
import { type Plan, requestedPlan } from "../../core/plan/plan.ts";
import { stepKinds } from "../../core/plan/step-kinds.ts";
import type { Run, Step } from "../../core/run/run.ts";
import type { AppendResult, Check, StoredRow } from "../../core/store/store.ts";
import type { RequestRow } from "../../core/store/tables.ts";
import { assert } from "../../core/values/assert.ts";
import { type Mode, worseEffect } from "../../core/values/effect.ts";
import { type Fault, FaultError, fault } from "../../core/values/fault.ts";
import type { Digest, RunId } from "../../core/values/ids.ts";
import type { Json, JsonObject } from "../../core/values/json.ts";
import { capabilityGuard } from "../../policy/guards/capability-guard.ts";
import { policyGuard } from "../../policy/guards/policy-guard.ts";
import { rolesGuard } from "../../policy/guards/roles-guard.ts";
import type { SubmitOptions } from "../api/request-options.ts";
import { makeProposal } from "../call/make-proposal.ts";
import { loadRun } from "../journal/load-run.ts";
import { digestOfJson } from "../ports/digest.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import type { ReplacementPlans } from "./replacement-plans.ts";

/** A submission: its request, if it has a key, and the content that makes two submissions the same. */
export interface SubmittedRequest {
  /** Null: it has no key, so it always makes a new run. */
  readonly request: Request | null;
  readonly plan: Plan;
  readonly context: JsonObject;
  readonly scope: RequestScope;
  /** The mode that the caller asked for, and the mode that the run would have. */
  readonly asked: Mode | null;
  readonly mode: Mode;
}

/**
 * Reads the request of a submission. `mode` is the mode that the run would have, and `policy` the version of the
 * policies in force for it.
 */
export function readRequest(
  plan: Plan,
  options: SubmitOptions & ReplacementPlans,
  { mode, policy }: { readonly mode: Mode; readonly policy: string | null },
): SubmittedRequest {
  const { context = {}, project = null, session = null, replan, fallbacks = [] } = options;
  const scope = { project, session };
  const content = {
    plan: requestedPlan(plan),
    context,
    ...(replan !== undefined && { replan: replan as unknown as Json }),
    ...(fallbacks.length > 0 && { fallbacks: fallbacks as unknown as Json }),
  };
  const intent = options.intent === undefined ? null : recordedIntent(options.intent);
  const answered: JsonObject = intent === null ? content : { intent: intent as unknown as Json };
  const asked = options.mode ?? null;
  const rules = policy === null ? {} : { policy };
  const key = readKey(plan, options, () => digestOfJson({ ...answered, ...scope, ...rules }));
  if (key === null) return { request: null, plan, context, scope, asked, mode };
  const named = { key, digest: digestOfJson({ ...answered, mode: asked }), form: 2 } as const;
  const request: Request = intent === null ? named : { ...named, intent };
  return { request, plan, context, scope, asked, mode };
}

/** Returns the key of a request. Null: it has none. */
function readKey({ intent_id }: Plan, { requestKey, intent }: SubmitOptions, content: () => Digest): string | null {
  if (requestKey === "content") return `content:${content()}`;
  return requestKey ?? (intent === undefined ? intent_id : `intent:${content()}`);
}

function recordedIntent({ type, payload = {}, contexts = {} }: Intent): RecordedIntent {
  return { type, payload, contexts_hash: digestOfJson(contexts) };
}

/** Returns the check that the request row of the older format still has the version `was`. Null: the row is absent. */
export function oldRequestChecks({ id }: Principal, request: Request | null, was: number | null): readonly Check[] {
  return request === null ? [] : [{ table: "request", key: oldRequestKey(id, request.key), was, glance: "own" }];
}

/** Returns the request row that an append met, and whether it has the older format; null: it met something else. */
export function foundRequestRow(landing: AppendResult): { readonly row: StoredRow; readonly old: boolean } | null {
  if (landing.landed || (landing.why !== "row" && landing.why !== "check")) return null;
  if (landing.table !== "request" || landing.found === null) return null;
  return { row: landing.found, old: landing.why === "check" };
}

/**
 * Returns the earlier run of the same request. Null: the row has the older format and belongs to a request of another
 * project or session. Throws if the plan differs, or if today's rules refuse a call of the run to this principal.
 */
export async function findRunOfRequest(
  ports: WorkerPorts,
  principal: Principal,
  submission: SubmittedRequest,
  { row, old }: { readonly row: StoredRow; readonly old: boolean },
): Promise<RunId | null> {
  const { run_id, digest } = JSON.parse(row.row) as RequestRow;
  const run = await loadRunUnlessErased(ports, principal, run_id);
  const { request, scope } = submission;
  assert(request !== null, "only a submission with a key meets a request row");
  if (old && run !== null && (run.project !== scope.project || run.session !== scope.session)) return null;
  if (digest !== (old ? oldDigest(submission, run) : request.digest)) {
    const message = `request key ${request.key} belongs to run ${run_id} with another plan, context or mode; use a new key`;
    throw new FaultError(fault("REQUEST_KEY_REUSED", message, { run_id }));
  }
  if (run !== null) await assertMayHave(ports, principal, request, run);
  return run_id;
}

/** Null: retention has erased the run, so a handle of it reveals nothing. */
export async function loadRunUnlessErased(
  { store }: WorkerPorts,
  { tenant }: Principal,
  id: RunId,
): Promise<Run | null> {
  try {
    return (await loadRun(store, tenant, id)).run;
  } catch (error) {
    if (error instanceof FaultError && error.fault.code === "RUN_NOT_FOUND") return null;
    throw error;
  }
}

/** The older digest contains the mode of the run, which may come from a setting that has changed. */
function oldDigest({ plan, context, asked, mode }: SubmittedRequest, run: Run | null): Digest {
  return digestOfJson({
    plan: requestedPlan(plan),
    context,
    mode: asked === null && run !== null ? run.mode : mode,
  });
}

/** Judges the calls of a recorded run by the rights of the principal and the policies of today. */
async function assertMayHave(ports: WorkerPorts, principal: Principal, request: Request, recorded: Run): Promise<void> {
  await ports.policies.refreshIfStale(principal.tenant);
  const run = { ...recorded, principal };
  const policy = ports.policies.of(run);
  for (const step of run.steps) {
    if (step.cause !== null || !stepKinds[step.spec.kind].callsTool) continue;
    if (step.standing.state === "rejected") continue; // It has no output: the asker gets its refusal from the record.
    const refused = judgeRecordedStep(ports, run, step, policy);
    if (refused !== null) throw refusedRunError(request, run.id, refused);
  }
}

/** Returns why the principal of the run may not have the record of this step today, or null. */
function judgeRecordedStep(ports: WorkerPorts, run: Run, step: Step, policy: Policy | null): Fault | null {
  const proposal = makeProposal(ports, run, step, { call: false });
  const effect = proposal.tool === null ? step.spec.effect : worseEffect(step.spec.effect, proposal.tool.effect);
  const now = ports.clock.now();
  const admission = { run, step, proposal, effect, now, policy, closure: null, conditions: [], recorded: true };
  const verdict = evaluateGuards(RIGHTS, admission);
  return verdict.kind === "refuse" ? verdict.fault : null;
}

/** Returns why the principal may not have the record of a call of its session today, or null. */
export async function judgeRecordedCall(
  ports: WorkerPorts,
  recorded: Run,
  step: Step,
  principal: Principal,
): Promise<Fault | null> {
  await ports.policies.refreshIfStale(principal.tenant);
  const run = { ...recorded, principal };
  return judgeRecordedStep(ports, run, { ...step, cause: { by: "agent", principal } }, ports.policies.of(run));
}

const RIGHTS = [capabilityGuard, rolesGuard, policyGuard];

/** Returns the refusal of a request whose run exists. It names the run, and no second run is made. */
export function refusedRunError({ key }: Request, run_id: RunId, { code, message: why }: Fault): FaultError {
  const message = `request key ${key} belongs to run ${run_id}, which is refused now: ${why}`;
  return new FaultError(fault(code, message, { run_id }));
}
