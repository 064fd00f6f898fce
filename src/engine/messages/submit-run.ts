import type { Principal } from "../../core/approval/principal.ts";
import type { CommandOf } from "../../core/decide/command.ts";
import type { Decision } from "../../core/decide/decide.ts";
import type { BackupRestore } from "../../core/event/backup-restore.ts";
import type { Confirmation } from "../../core/event/event.ts";
import type { ParentStep } from "../../core/event/parent-step.ts";
import type { RunRules } from "../../core/event/run-rules.ts";
import type { ToolPin } from "../../core/event/tool-pin.ts";
import { requestKey } from "../../core/evolve/event-rows.ts";
import { checkPlan } from "../../core/plan/check-plan.ts";
import type { Plan } from "../../core/plan/plan.ts";
import { planInvalidFault } from "../../core/plan/plan-invalid-fault.ts";
import type { Run } from "../../core/run/run.ts";
import { defaultQueue } from "../../core/store/select-fairly.ts";
import type { RequestRow } from "../../core/store/tables.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Instant, RunId, Tenant } from "../../core/values/ids.ts";
import type { JsonObject } from "../../core/values/json.ts";
import type { SubmitOptions } from "../api/engine-api.ts";
import { labelFields } from "../api/label-problems.ts";
import { toolPins } from "../call/tool-pins.ts";
import { ConditionFailedError } from "../journal/append-errors.ts";
import { newRun } from "../journal/load-run.ts";
import { sessionFault } from "../journal/named-session-row.ts";
import { RunMailbox } from "../journal/run-mailbox.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { bindOutcomes, hasOutcomeBindings } from "./bind-outcomes.ts";
import {
  findRunOfRequest,
  foundRequestRow,
  oldRequestChecks,
  readRequest,
  refusedRunError,
  type SubmittedRequest,
} from "./find-run-of-request.ts";
import { refuseSubmission } from "./refuse-run.ts";
import type { ReplacementPlans } from "./replacement-plans.ts";
import { submissionMode } from "./submission-mode.ts";

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
  options: SubmitOptions & ReplacementPlans,
): Promise<SubmittedRun> {
  leasedRuns.assertOpen();
  const now = ports.clock.now();
  const id = ports.newId("run", now) as RunId;
  const { queue = defaultQueue } = options;
  const closed = options.session === undefined ? null : await sessionFault(ports.store, principal.tenant, options);
  if (closed !== null) throw await refuseSubmission(ports, leasedRuns, plan, closed, { principal, options });
  const submission = await readSubmission(ports, principal, plan, options);
  const { mode, request } = submission;
  if (options.retryFailed && request === null)
    throw new FaultError(fault("INVALID_INPUT", "retryFailed needs a requestKey, which names the run to retry"));
  if (mode === "dry_run") throw await dryRunError(ports, principal, submission);
  const bound = await boundSubmission(ports, leasedRuns, principal, submission, options);
  const accept = acceptCommand(ports, principal, bound, { now, id, options });
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

/** Reads a submission. A key that is made of its content depends on the policies in force, so these are of now. */
export async function readSubmission(
  ports: WorkerPorts,
  principal: Principal,
  plan: Plan,
  options: SubmitOptions & ReplacementPlans,
): Promise<SubmittedRequest> {
  const mode = submissionMode(ports, principal, options);
  const isComputed = options.requestKey === "content" || options.intent !== undefined;
  if (!isComputed) return readRequest(plan, options, { mode, policy: null });
  await ports.policies.refreshIfStale(principal.tenant);
  const { project = null, session = null } = options;
  const policy = ports.policies.of({ tenant: principal.tenant, project, session })?.version ?? null;
  return readRequest(plan, options, { mode, policy });
}

/** Returns the submission with the outcomes that its plan is bound to. A refused one is on record. */
async function boundSubmission(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  principal: Principal,
  submission: SubmittedRequest,
  options: SubmitOptions,
): Promise<SubmittedRequest> {
  const { plan, request, scope } = submission;
  if (!hasOutcomeBindings(plan)) return submission;
  const isKnown =
    request !== null &&
    (await ports.store.row(principal.tenant, "request", requestKey(principal.id, request.key, scope))) !== null;
  if (isKnown) return submission; // It is answered by its earlier run.
  try {
    return { ...submission, plan: await bindOutcomes(ports, principal, plan) };
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    throw await refuseSubmission(ports, leasedRuns, plan, error.fault, { principal, options });
  }
}

interface NewRun {
  readonly now: Instant;
  readonly id: RunId;
  readonly options: SubmitOptions & ReplacementPlans;
}

/** Returns a function that makes the command. It takes the version of the request row in the older format, if there is one. */
function acceptCommand(
  ports: WorkerPorts,
  principal: Principal,
  { mode, request, plan, context }: SubmittedRequest,
  { now, id, options }: NewRun,
): (oldRow: number | null) => CommandOf<"accept"> {
  const { queue = defaultQueue } = options;
  const tools = allPins(ports, plan, options);
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
    ...otherPlanFields(options),
    ...(options.budgets !== undefined && { budgets: { run: id, limits: options.budgets } }),
    rules,
    correlation_id: options.correlationId ?? id,
    trace_id: options.traceId ?? id,
  });
}

/** Returns the pins of the tools that the plan, its fallback plans and its replanner call. */
function allPins(
  ports: WorkerPorts,
  plan: Plan,
  { replan, fallbacks = [] }: ReplacementPlans,
): Record<string, ToolPin> {
  const pins = Object.assign({}, toolPins(ports, plan), ...fallbacks.map((other) => toolPins(ports, other)));
  const pin = replan === undefined ? null : ports.toolbox.pin(replan.by);
  return replan === undefined || pin === null ? pins : { ...pins, [replan.by]: pin };
}

function otherPlanFields({ replan, fallbacks = [] }: ReplacementPlans): ReplacementPlans {
  return { ...(replan !== undefined && { replan }), ...(fallbacks.length > 0 && { fallbacks }) };
}

function placeFields({ project, session }: SubmitOptions): Pick<SubmitOptions, "project" | "session"> {
  return { ...(project !== undefined && { project }), ...(session !== undefined && { session }) };
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
  const bound = hasOutcomeBindings(plan) ? await bindOutcomes(ports, run.principal, plan) : plan;
  await mailbox.ask(() => ({
    ...inheritedFields(ports, parent, run, id),
    plan: bound,
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
  const scope = {
    ...(project !== null && { project }),
    ...(session !== null && { session }),
    ...(run.terms.budgets !== null && { budgets: run.terms.budgets }),
  };
  const own = { type: "accept", now: ports.clock.now(), run_id: id, origin: id, request: null, parent } as const;
  return { ...given, ...turn, ...scope, ...own, rules: ownRules(ports, run.tenant), ...inheritedRestoration(run) };
}

/** Returns the restore of the backup that contained the run, for a run that continues it. */
export function inheritedRestoration({ restored }: Run): { readonly restored?: BackupRestore } {
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
      const attached = await findRunOfRequest(ports, principal, submission, found);
      if (attached !== null) return attached;
      oldRow = found.row.version;
    }
  }
}

/** Returns the refusal of a request in mode dry_run. It names the run of an earlier request. */
export async function dryRunError(
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

/** Checks a plan before anything is stored. Throws PLAN_INVALID with all reasons. */
export function readPlan({ toolbox }: WorkerPorts, raw: unknown, context: JsonObject, strict: boolean): Plan {
  const checked = checkPlan(raw, { tools: toolbox.callable, context, strict });
  if (checked.ok) return checked.plan;
  throw new FaultError(planInvalidFault(checked.reasons));
}
