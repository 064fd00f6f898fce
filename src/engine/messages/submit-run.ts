import type { Principal } from "../../core/approval/principal.ts";
import type { CommandOf } from "../../core/decide/command.ts";
import type { Decision } from "../../core/decide/decide.ts";
import type { Confirmation, ToolPin } from "../../core/event/event.ts";
import type { ParentStep } from "../../core/event/parent-step.ts";
import type { Restoration } from "../../core/event/restoration.ts";
import type { RunRules } from "../../core/event/run-rules.ts";
import { requestKey } from "../../core/evolve/event-rows.ts";
import type { Reason } from "../../core/json/reason-list.ts";
import { checkPlan } from "../../core/plan/check-plan.ts";
import type { Plan } from "../../core/plan/plan.ts";
import { stepKinds } from "../../core/plan/step-kinds.ts";
import type { Run } from "../../core/run/run.ts";
import { defaultQueue } from "../../core/store/fair-queue.ts";
import type { RequestRow } from "../../core/store/tables.ts";
import { type Mode, stricterMode } from "../../core/values/effect.ts";
import { type Fault, FaultError, fault } from "../../core/values/fault.ts";
import type { Instant, RunId, Tenant } from "../../core/values/ids.ts";
import type { Json, JsonObject } from "../../core/values/json.ts";
import type { SubmitOptions } from "../api/engine-api.ts";
import { labelFields } from "../api/label-problems.ts";
import { ConditionFailedError } from "../journal/append-errors.ts";
import { newRun } from "../journal/load-run.ts";
import { RunMailbox } from "../journal/run-mailbox.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import {
  attachToRun,
  foundRequestRow,
  oldRequestChecks,
  readRequest,
  refusedRunError,
  type SubmittedRequest,
} from "./attach-to-run.ts";

export interface SubmittedRun {
  readonly id: RunId;
  readonly attached: boolean;
  /** The run, if it has ended in the entry that accepted it. */
  readonly ended?: Run | null;
}

/** Accepts a plan as a run, once per request key, and starts it if this engine works. */
export async function submitRun(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  plan: Plan,
  principal: Principal,
  options: SubmitOptions,
): Promise<SubmittedRun> {
  leasedRuns.assertOpen();
  const now = ports.clock.now();
  const id = ports.newId("run", now) as RunId;
  const { queue = defaultQueue } = options;
  const submission = readRequest(plan, options, submissionMode(ports, principal, options));
  const { mode, request } = submission;
  if (options.retryFailed && request === null)
    throw new FaultError(fault("INVALID_INPUT", "retryFailed needs a requestKey, which names the run to retry"));
  if (mode === "dry_run") throw await dryRunError(ports, principal, submission);
  const accept = acceptCommand(ports, principal, submission, { now, id, options });
  const rules = ownRules(ports, principal.tenant);
  if (request === null && leasedRuns.claimsImmediately({ queue, rules }))
    return { id, attached: false, ended: await leasedRuns.accept(principal.tenant, id, () => accept(null)) };
  const mailbox = new RunMailbox(ports, newRun(principal.tenant, id), null);
  ports.failpoint("accept.before");
  const attached = await acceptOrAttach(ports, principal, submission, (oldRow) => mailbox.ask(() => accept(oldRow)));
  if (attached !== null) return { id: attached, attached: true };
  ports.failpoint("accept.after");
  await leasedRuns.takeDueRun(mailbox.run, mailbox.loaded);
  return { id, attached: false };
}

/** Returns a function that makes the command. It takes the version of the request row in the older format, if there is one. */
function acceptCommand(
  ports: WorkerPorts,
  principal: Principal,
  { mode, request, plan, context }: SubmittedRequest,
  { now, id, options }: { readonly now: Instant; readonly id: RunId; readonly options: SubmitOptions },
): (oldRow: number | null) => CommandOf<"accept"> {
  const { queue = defaultQueue } = options;
  const tools = toolPins(ports, plan);
  const rules = ownRules(ports, principal.tenant);
  return (oldRow) => ({
    type: "accept",
    now,
    run_id: id,
    origin: id,
    principal,
    mode,
    plan,
    context,
    request,
    checks: oldRequestChecks(principal, request, oldRow),
    tools,
    deadline_at: options.deadlineMs === undefined ? null : ((now + options.deadlineMs) as Instant),
    ...(queue !== defaultQueue && { queue }),
    ...(options.priority && { priority: options.priority }),
    ...placeFields(options),
    ...labelFields(options),
    ...(options.confirmed !== undefined && { confirmed: options.confirmed as Confirmation }),
    rules,
    correlation_id: options.correlationId ?? id,
    trace_id: options.traceId ?? id,
  });
}

function placeFields({ project, session }: SubmitOptions): Pick<SubmitOptions, "project" | "session"> {
  return { ...(project !== undefined && { project }), ...(session !== undefined && { session }) };
}

/** Returns the stricter of the modes of the tenant and of the request. */
export function submissionMode(
  { tenants }: WorkerPorts,
  { tenant }: Principal,
  options: Pick<SubmitOptions, "mode">,
): Mode {
  return stricterMode(tenants.mode(tenant), options.mode ?? tenants.mode(tenant));
}

/** Returns the rules that a run of this tenant is accepted under. */
export function ownRules({ rulesDigest: digest, tenants }: WorkerPorts, tenant: Tenant): RunRules {
  return tenants.pinsRules(tenant) ? { digest, pinned: true } : { digest };
}

/** A child run that a step starts. */
interface ChildRunRequest {
  readonly run: Run;
  readonly id: RunId;
  readonly plan: Plan;
  readonly context: JsonObject;
}

/** Accepts the child run of a step, or finds that it was accepted before. Returns the child run. */
export async function submitChildRun(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  parent: ParentStep,
  wanted: ChildRunRequest,
): Promise<Run> {
  const { run, id, plan, context } = wanted;
  const { tenant } = run;
  const mailbox = new RunMailbox(ports, newRun(tenant, id), null);
  ports.failpoint("accept.before");
  await mailbox.ask(() => ({
    ...inheritedFields(ports, parent, run, id),
    plan,
    context,
    tools: toolPins(ports, plan),
  }));
  ports.failpoint("accept.after");
  if (mailbox.run.ended === null) await leasedRuns.takeDueRun(mailbox.run, mailbox.loaded);
  return mailbox.run;
}

/** Accepts a child run as cancelled, so that a late start finds it cancelled. Returns false if it existed before. */
export async function acceptCancelledChild(
  ports: WorkerPorts,
  parent: ParentStep,
  run: Run,
  id: RunId,
  reason: string,
): Promise<boolean> {
  const mailbox = new RunMailbox(ports, newRun(run.tenant, id), null);
  const own = { plan: null, context: {}, tools: {}, cancelled: reason };
  await mailbox.ask(() => ({ ...inheritedFields(ports, parent, run, id), ...own }));
  return mailbox.run.cancel !== null;
}

/** Returns the fields of an accept command that a child run inherits from its parent. */
function inheritedFields(ports: WorkerPorts, parent: ParentStep, run: Run, id: RunId) {
  const { principal, mode, deadline_at, queue, priority, correlation_id, trace_id, project, session } = run;
  const given = { principal, mode, deadline_at, correlation_id, trace_id };
  const turn = { ...(queue !== defaultQueue && { queue }), ...(priority !== 0 && { priority }) };
  const scope = { ...(project !== null && { project }), ...(session !== null && { session }) };
  const own = { type: "accept", now: ports.clock.now(), run_id: id, origin: id, request: null, parent } as const;
  return { ...given, ...turn, ...scope, ...own, rules: ownRules(ports, run.tenant), ...inheritedRestoration(run) };
}

/** Returns the restore of the backup that contained the run, for a run that continues it. */
export function inheritedRestoration({ restored }: Run): { readonly restored?: Restoration } {
  if (restored === null) return {};
  const { incarnation, backup_at } = restored;
  return { restored: { incarnation, backup_at } };
}

/** Accepts the run, or returns the earlier run of the same request. Null: the run was accepted. */
async function acceptOrAttach(
  ports: WorkerPorts,
  principal: Principal,
  submission: SubmittedRequest,
  accept: (oldRow: number | null) => Promise<Decision>,
): Promise<RunId | null> {
  let oldRow: number | null = null;
  for (;;) {
    try {
      await accept(oldRow);
      return null;
    } catch (error) {
      const found = error instanceof ConditionFailedError ? foundRequestRow(error.landing) : null;
      if (found === null) throw error;
      const attached = await attachToRun(ports, principal, submission, found);
      if (attached !== null) return attached;
      oldRow = found.row.version;
    }
  }
}

/** Returns the refusal of a submission in mode dry_run. It names the run of an earlier submission. */
async function dryRunError(
  ports: WorkerPorts,
  principal: Principal,
  submission: SubmittedRequest,
): Promise<FaultError> {
  const { tenant } = principal;
  const why = fault(
    "MODE_FORBIDS",
    `tenant ${tenant} or this request is dry_run; use simulate, or ask for another mode`,
  );
  const { request, scope } = submission;
  if (request === null) return new FaultError(why);
  const stored = await ports.store.row(tenant, "request", requestKey(principal.id, request.key, scope));
  return stored === null
    ? new FaultError(why)
    : refusedRunError(request, (JSON.parse(stored.row) as RequestRow).run_id, why);
}

export function toolPins({ toolbox }: WorkerPorts, plan: Plan): Readonly<Record<string, ToolPin>> {
  const pins: Record<string, ToolPin> = {};
  for (const step of plan.steps) {
    const pin = stepKinds[step.kind].callsTool ? toolbox.pin(step.name) : null;
    if (pin !== null) pins[step.name] = pin;
  }
  return pins;
}

/** Checks a plan before anything is stored. Throws PLAN_INVALID with all reasons. */
export function readPlan({ toolbox }: WorkerPorts, raw: unknown, context: JsonObject, strict: boolean): Plan {
  const checked = checkPlan(raw, { tools: toolbox.callable, context, strict });
  if (checked.ok) return checked.plan;
  throw new FaultError(planInvalidFault(checked.reasons));
}

/** Returns the fault of a plan with all reasons against it. */
export function planInvalidFault(reasons: readonly Reason[]): Fault {
  const list = reasons.map(({ path, message }) => `${path || "/"}: ${message}`);
  const count = list.length === 1 ? "the plan was refused" : `the plan was refused for ${list.length} reasons`;
  return fault("PLAN_INVALID", `${count}: ${list.join("; ")}`, { reasons: reasons as unknown as Json });
}
