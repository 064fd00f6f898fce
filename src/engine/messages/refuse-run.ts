import type { Principal } from "../../core/approval/principal.ts";
import type { CommandOf } from "../../core/decide/command.ts";
import { canonicalJson } from "../../core/json/canonical-json.ts";
import { checkJson, valueLimits } from "../../core/json/check-json.ts";
import type { Reason } from "../../core/json/problem-list.ts";
import type { CheckedPlan } from "../../core/plan/check-plan.ts";
import { type Plan, planStep } from "../../core/plan/plan.ts";
import type { KnownTools } from "../../core/plan/plan-context.ts";
import { planInvalidFault } from "../../core/plan/plan-invalid-fault.ts";
import { type Fault, FaultError, fault } from "../../core/values/fault.ts";
import type { RunId, StepId } from "../../core/values/ids.ts";
import { isName } from "../../core/values/is-name.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/values/json.ts";
import type { SubmitOptions } from "../api/engine-api.ts";
import { requestLimits } from "../api/request-limits.ts";
import { isStoreFault } from "../journal/append-errors.ts";
import { newRun } from "../journal/load-run.ts";
import { RunMailbox } from "../journal/run-mailbox.ts";
import { digestOfJson } from "../ports/digest.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { isRefusalLimit, refusalCharge, refusalLimitError } from "./recorded-refusal-limit.ts";
import { submissionMode } from "./submission-mode.ts";

/** The principal that made the refused request, and the options of the request. */
interface RefusedRequest {
  readonly principal: Principal;
  readonly options: SubmitOptions;
}

type RefusedPlan = Extract<CheckedPlan, { readonly ok: false }>;

/** A refused request and its record. `run_id` is null if nothing was recorded: in mode dry_run, or because the store failed. */
export interface RefusedRun {
  readonly fault: Fault;
  readonly run_id: RunId | null;
}

/** Records a refused plan, without the plan itself. */
export async function refusePlan(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  given: unknown,
  { reasons }: RefusedPlan,
  asked: RefusedRequest,
): Promise<RefusedRun> {
  const refused = planInvalidFault(reasons);
  const recorded = shorten(refused, { plan: describeValue(given) });
  const run_id = await recordRefusal(ports, leasedRuns, null, recorded, asked);
  if (run_id === null) return { fault: refused, run_id };
  const message = `${refused.message}; the refusal is on record as ${run_id}`;
  return { fault: fault(refused.code, message, { ...(refused.detail as JsonObject), run_id }), run_id };
}

/** Records a plan that cannot be accepted now, though it is valid, and returns the error for its caller. */
export async function refuseSubmission(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  plan: Plan,
  { code, message, detail }: Fault,
  asked: RefusedRequest,
): Promise<FaultError> {
  const described = { plan: describeValue(plan) };
  const run_id = await recordRefusal(ports, leasedRuns, null, fault(code, message, described), asked);
  if (run_id === null) return new FaultError(fault(code, message, detail ?? null));
  return new FaultError(fault(code, `${message}; the refusal is on record as ${run_id}`, { run_id }));
}

/** Records a refused call as a run of one step. An input that is large or not a JSON object is recorded by its digest. */
export async function refuseCall(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  call: { readonly name: unknown; readonly input: unknown; readonly tools: KnownTools },
  { reasons }: RefusedPlan,
  asked: RefusedRequest,
): Promise<RefusedRun> {
  const name = isName(call.name) ? call.name : "(invalid name)";
  const tool = call.tools.get(name);
  const small = checkJson(call.input, { ...valueLimits, bytes: requestLimits.refusedInput });
  const whole = small.ok && isJsonObject(small.value) ? small.value : null;
  const refused = callFault(tool === undefined, reasons);
  const recorded = shorten(refused, whole === null ? { input: describeValue(call.input) } : {});
  const step = planStep({
    step_id: "call" as StepId,
    name,
    effect: tool?.effect ?? "pure",
    ...(whole !== null && { payload: whole }),
  });
  const plan: Plan = { plan_id: null, schema_version: "1.0", intent_id: null, steps: [step] };
  return { fault: refused, run_id: await recordRefusal(ports, leasedRuns, plan, recorded, asked) };
}

/** The paths of reasons begin with that of the only step of the call. */
function callFault(isUnknown: boolean, reasons: readonly Reason[]): Fault {
  const { message, detail } = planInvalidFault(reasons);
  if (isUnknown) return fault("TOOL_UNKNOWN", message.replace("the plan", "the call"), detail);
  // Without a path: the input is too large.
  const isInput = reasons.every(({ path }) => path === "" || path.startsWith("/steps/0/payload"));
  return fault(isInput ? "INVALID_INPUT" : "PLAN_INVALID", message.replace("the plan", "the call"), detail);
}

/** Appends the run, its refusal and its end in one entry. No request key is used up. */
async function recordRefusal(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  plan: Plan | null,
  refused: Fault,
  asked: RefusedRequest,
): Promise<RunId | null> {
  leasedRuns.assertOpen();
  const { principal, options } = asked;
  const mode = submissionMode(ports, principal, options);
  if (mode === "dry_run") return null;
  const now = ports.clock.now();
  const id = ports.newId("run", now) as RunId;
  const { project, session, correlationId = id, traceId = id } = options;
  return recordRefusedRun(
    ports,
    {
      now,
      run_id: id,
      origin: id,
      principal,
      mode,
      plan,
      context: {},
      request: null,
      tools: {},
      deadline_at: null,
      ...(project !== undefined && { project }),
      ...(session !== undefined && { session }),
      correlation_id: correlationId,
      trace_id: traceId,
    },
    refused,
  );
}

/**
 * Appends a run that is accepted and refused at once. Null: the store failed, so nothing was recorded. Throws
 * LIMIT_EXCEEDED if too many refusals of the principal are on record.
 */
export async function recordRefusedRun(
  ports: WorkerPorts,
  run: Omit<CommandOf<"accept">, "type">,
  refused: Fault,
): Promise<RunId | null> {
  const { id, tenant } = run.principal;
  const refusal_charge = refusalCharge(ports, id, run.now);
  const mailbox = new RunMailbox(ports, newRun(tenant, run.run_id), null);
  try {
    await mailbox.ask(() => ({ type: "accept", ...run, refused, refusal_charge }));
    return run.run_id;
  } catch (error) {
    if (isStoreFault(error)) return null; // The caller learns of the refusal, which matters more.
    throw isRefusalLimit(error) ? refusalLimitError(ports, id, run.now, refused) : error;
  }
}

/** Returns the fault as it is recorded: with the first reasons only, and with a description of what was refused. */
function shorten({ code, message, detail }: Fault, described: JsonObject): Fault {
  const { reasons } = detail as { readonly reasons: readonly Json[] };
  const text =
    message.length > requestLimits.refusedMessage ? `${message.slice(0, requestLimits.refusedMessage)}…` : message;
  return fault(code, text, { reasons: reasons.slice(0, requestLimits.refusedReasons), ...described });
}

/** Returns the digest and the size of a value, or null if it is not JSON or too large to be read. */
function describeValue(value: unknown): JsonObject | null {
  const checked = checkJson(value, valueLimits);
  if (!checked.ok) return null;
  return { digest: digestOfJson(checked.value), bytes: Buffer.byteLength(canonicalJson(checked.value)) };
}
