import type { Decision } from "../../core/decide.ts";
import { strictest } from "../../core/effect.ts";
import type { Confirmed, Parent, Pin } from "../../core/event.ts";
import { FaultError, fault } from "../../core/fault.ts";
import type { Instant, RunId } from "../../core/id.ts";
import type { Json, JsonObject } from "../../core/json/json.ts";
import { checkPlan } from "../../core/plan/check-plan.ts";
import type { Plan } from "../../core/plan/plan.ts";
import type { Principal } from "../../core/principal.ts";
import type { RequestRow } from "../../core/rows.ts";
import { requestKey } from "../../core/rows-of.ts";
import type { Run } from "../../core/run.ts";
import type { Request } from "../../core/signal.ts";
import { queueDefault } from "../../core/turns.ts";
import type { SubmitOptions } from "../api.ts";
import { digestOfJson } from "../digest.ts";
import type { Ports } from "../ports.ts";
import { unborn } from "../record/load.ts";
import { Mailbox, RowLost } from "../record/mailbox.ts";
import type { Holds } from "../watch/holds.ts";

export interface Submitted {
  readonly id: RunId;
  readonly attached: boolean;
}

/** Accepts a plan as a run, once per request key, and takes it up if this engine works. */
export async function submit(
  ports: Ports,
  holds: Holds,
  plan: Plan,
  principal: Principal,
  options: SubmitOptions,
): Promise<Submitted> {
  holds.assertOpen();
  const now = ports.clock.now();
  const id = ports.newId("run", now) as RunId;
  const key = options.requestKey ?? plan.intent_id;
  const { context = {}, queue = queueDefault } = options;
  const mode = strictest(ports.tenants.mode(principal.tenant), options.mode ?? ports.tenants.mode(principal.tenant));
  if (mode === "dry_run") {
    throw new FaultError(
      fault(
        "MODE_FORBIDS",
        `tenant ${principal.tenant} or this request is dry_run; use simulate, or ask for another mode`,
      ),
    );
  }
  const request: Request | null =
    key === null ? null : { key, digest: digestOfJson({ plan: plan as unknown as Json, context, mode }) };
  const mailbox = new Mailbox(ports, unborn(principal.tenant, id), null);
  ports.failpoint("accept.before");
  const accepting = mailbox.ask({
    type: "accept",
    now,
    run_id: id,
    origin: id,
    principal,
    mode,
    plan,
    context,
    request,
    tools: pinsOf(ports, plan),
    deadline_at: options.deadlineMs === undefined ? null : ((now + options.deadlineMs) as Instant),
    ...(queue !== queueDefault && { queue }),
    ...(options.priority && { priority: options.priority }),
    ...(options.project !== undefined && { project: options.project }),
    ...(options.session !== undefined && { session: options.session }),
    ...(options.confirmed !== undefined && { confirmed: options.confirmed as Confirmed }),
    correlation_id: options.correlationId ?? id,
    trace_id: options.traceId ?? id,
  });
  // Nobody else knows the id yet, so the claim can share the transaction that accepts the run.
  const claiming =
    holds.claimsAtOnce(queue) && request === null ? ports.leases.claim(principal.tenant, id).catch(() => null) : null;
  const attached = await attachment(ports, principal, request, accepting).catch(async (error) => {
    const vain = await claiming;
    if (vain !== null) holds.giveBack(vain);
    throw error;
  });
  if (attached !== null) return { id: attached, attached: true };
  ports.failpoint("accept.after");
  const claim = await claiming;
  if (claim?.epoch === 1) holds.hold(claim, mailbox.loaded);
  else await holds.fellDue(principal.tenant, id, queue, mailbox.loaded);
  return { id, attached: false };
}

/** What a step of a run asks for, beside what its run has. */
interface Wanted {
  readonly run: Run;
  readonly id: RunId;
  readonly plan: Plan;
  readonly context: JsonObject;
}

/** Accepts what a step asks for as a run of its own, or finds that it was accepted before. Answers with the run as it is. */
export async function submitFor(ports: Ports, holds: Holds, parent: Parent, wanted: Wanted): Promise<Run> {
  const { run, id, plan, context } = wanted;
  const { tenant, queue } = run;
  const mailbox = new Mailbox(ports, unborn(tenant, id), null);
  ports.failpoint("accept.before");
  await mailbox.ask({ ...inheritedBy(ports, parent, run, id), plan, context, tools: pinsOf(ports, plan) });
  ports.failpoint("accept.after");
  if (mailbox.run.ended === null) await holds.fellDue(tenant, id, queue, mailbox.loaded);
  return mailbox.run;
}

/** Takes the place of a run that was to be asked for, so that whoever asks for it late finds it cancelled. False: it was there before. */
export async function forestall(ports: Ports, parent: Parent, run: Run, id: RunId, reason: string): Promise<boolean> {
  const mailbox = new Mailbox(ports, unborn(run.tenant, id), null);
  const own = { plan: null, context: {}, tools: {}, cancelled: reason };
  await mailbox.ask({ ...inheritedBy(ports, parent, run, id), ...own });
  return mailbox.run.cancel !== null;
}

/** What a run has of the one that asks for it. */
function inheritedBy({ clock }: Ports, parent: Parent, run: Run, id: RunId) {
  const { principal, mode, deadline_at, queue, priority, correlation_id, trace_id, project, session } = run;
  const given = { principal, mode, deadline_at, correlation_id, trace_id };
  const turn = { ...(queue !== queueDefault && { queue }), ...(priority !== 0 && { priority }) };
  const scope = { ...(project !== null && { project }), ...(session !== null && { session }) };
  const own = { type: "accept", now: clock.now(), run_id: id, origin: id, request: null, parent } as const;
  return { ...given, ...turn, ...scope, ...own };
}

/** The run that the same request became earlier; null if this one is the first. */
async function attachment(
  ports: Ports,
  principal: Principal,
  request: Request | null,
  accepting: Promise<Decision>,
): Promise<RunId | null> {
  try {
    await accepting;
    return null;
  } catch (error) {
    if (!(error instanceof RowLost) || request === null) throw error;
    const stored = await ports.store.row(principal.tenant, "request", requestKey(principal.id, request.key));
    if (stored === null) throw error;
    const row = JSON.parse(stored.row) as RequestRow;
    if (row.digest === request.digest) return row.run_id;
    const message = `request key ${request.key} belongs to run ${row.run_id}, whose plan, context or mode is another; use a new key for a new request`;
    throw new FaultError(fault("REQUEST_KEY_REUSED", message, { run_id: row.run_id }));
  }
}

export function pinsOf({ toolbox }: Ports, plan: Plan): Readonly<Record<string, Pin>> {
  const pins: Record<string, Pin> = {};
  for (const step of plan.steps) {
    const pin = step.kind === "operator" ? toolbox.pin(step.name) : null;
    if (pin !== null) pins[step.name] = pin;
  }
  return pins;
}

/** Reads a plan, or refuses it with every reason at once, before anything is stored. */
export function readPlan({ toolbox }: Ports, raw: unknown, context: JsonObject, strict: boolean): Plan {
  const checked = checkPlan(raw, { tools: toolbox, context, strict });
  if (checked.ok) return checked.plan;
  const list = checked.reasons.map(({ path, message }) => `${path || "/"}: ${message}`);
  const count = list.length === 1 ? "the plan was refused" : `the plan was refused for ${list.length} reasons`;
  throw new FaultError(
    fault("PLAN_INVALID", `${count}: ${list.join("; ")}`, { reasons: checked.reasons as unknown as Json }),
  );
}
