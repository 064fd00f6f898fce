import { judgeVerb, NO_FACTS } from "../approval/judge-verb.ts";
import { isFinalVerb } from "../approval/verb-rules.ts";
import type { Event, Notice } from "../event/event.ts";
import { alertTally, type BudgetAlert } from "../limits/budget-alert.ts";
import type { LimitedCharge } from "../limits/tally-charge.ts";
import { type LeanStep, leanPlan } from "../plan/plan.ts";
import { childCancelNotices } from "../run/child-run-notices.ts";
import { rolledBackRunFault } from "../run/rolled-back-run-fault.ts";
import { getStep, type Run } from "../run/run.ts";
import type { Step } from "../run/step.ts";
import { isRunResumable } from "../run/step-transition.ts";
import { assert } from "../values/assert.ts";
import { type Fault, fault } from "../values/fault.ts";
import type { Instant, StepId } from "../values/ids.ts";
import { cancelHostWork } from "./cancel-host-work.ts";
import type { CommandOf } from "./command.ts";
import { gateNotices } from "./gate-notice.ts";
import type { HeldRequest } from "./held-request.ts";
import { NO_CHANGE, type PartialDecision } from "./partial-decision.ts";

export function acceptRun(run: Run, command: CommandOf<"accept">): PartialDecision {
  if (run.position > 0) return NO_CHANGE; // The command was accepted before, and its answer was lost.
  const {
    type: _type,
    now,
    inherited = [],
    cancelled: reason,
    refused,
    simulated,
    refusal_charge,
    held,
    ...accepting
  } = command;
  const { checks = [], fallbacks: others = [], ...own } = accepting;
  const plan = command.plan && leanPlan(command.plan);
  const fields = others.length === 0 ? own : { ...own, fallbacks: others.map(leanPlan) };
  const done = inherited.map(
    (step): Event => ({ type: "step.succeeded", at: now, attempt: 0, started_at: now, ...step }),
  );
  const accepted: Event = { type: "run.accepted", at: now, tenant: run.tenant, ...fields, plan };
  if (refused !== undefined) {
    const charges = refusal_charge === undefined ? {} : { charges: [refusal_charge] };
    const refusal: Event = { type: "run.refused", at: now, fault: refused, ...charges };
    return { events: [accepted, refusal, ...rejectionEvents(plan?.steps ?? [], refused, now)] };
  }
  if (simulated !== undefined) return { events: [accepted, { type: "run.simulated", at: now, ...simulated }] };
  if (held !== undefined) return { events: [accepted, verbGateEvent(run, plan?.steps ?? [], held, now)] };
  if (reason === undefined) return { events: [accepted, ...done], checks };
  return { events: [accepted, { type: "cancel.requested", at: now, by: fields.principal.id, reason }] };
}

/** Opens the gate of a held request, which is the only step of its run. */
function verbGateEvent(run: Run, steps: readonly LeanStep[], held: HeldRequest, at: Instant): Event {
  const [step] = steps;
  assert(step !== undefined && steps.length === 1, "a held request is the only step of its run");
  const { gate_id, gate_ms, gate_notice, call, rule, reason, demand, basis } = held;
  const opened = {
    type: "gate.opened",
    at,
    gate_id,
    step_id: step.step_id,
    call,
    rule,
    reason,
    demand,
    expires_at: (at + Math.min(gate_ms, demand.within_ms ?? gate_ms)) as Instant,
    duplicate_of: null,
    ...(isFinalVerb(step.name) && { reversible: false }),
    ...(basis && { basis }),
  } as const;
  return gate_notice ? { ...opened, ...gateNotices(run, step.name, opened) } : opened;
}

function rejectionEvents(steps: readonly Pick<LeanStep, "step_id">[], why: Fault, at: Instant): readonly Event[] {
  return steps.map(({ step_id }) => ({ type: "step.rejected", at, step_id, rule: "plan", fault: why }));
}

/** Restores state as a new version on top of the current one. Records nothing if nothing differs. */
export function restoreState(
  run: Run,
  { principal, reason, to, state, files, now, held_in, checks = [] }: CommandOf<"restore">,
): PartialDecision {
  if (held_in !== undefined && run.executedRequests.includes(held_in))
    return { events: [], refusal: fault("NOT_POSSIBLE", `the request of run ${held_in} has restored this run before`) };
  const { fault: refusal, change } = state;
  if (refusal !== null) return { events: [], refusal };
  if (change === null && files === null) return NO_CHANGE;
  const changed = { ...(change !== null && { state: change }), ...files, ...(held_in && { held_in }) };
  return { events: [{ type: "state.restored", at: now, by: principal.id, reason, to, ...changed }], checks };
}

export function cancelRun(run: Run, { principal, reason, now }: CommandOf<"cancel">): PartialDecision {
  if (run.cancel !== null) return NO_CHANGE;
  if (run.rollback !== null && run.ended === null)
    return {
      events: [],
      refusal: fault("NOT_POSSIBLE", `run ${run.id} is rolled back already; nothing of it starts any more`),
    };
  if (run.ended !== null) {
    return {
      events: [],
      refusal: fault("NOT_POSSIBLE", `run ${run.id} has ended (${run.ended.status}); there is nothing to cancel`),
    };
  }
  const notices = childCancelNotices(run);
  const more = notices.length === 0 ? {} : { notices };
  const cancelled: Event = { type: "cancel.requested", at: now, by: principal.id, reason, ...more };
  return { events: [cancelled, ...cancelHostWork(run, now)] };
}

export function resumeRun(run: Run, command: CommandOf<"resume">): PartialDecision {
  const { principal, reason, only, now } = command;
  if (only === "failed" && !isRetryable(run) && rolledBackRunFault(run) === null) return NO_CHANGE;
  if (run.ended === null && run.parked !== null) return resumeParkedRun(run, command);
  const rolledBack = rolledBackRunFault(run);
  if (rolledBack !== null) return { events: [], refusal: rolledBack };
  if (run.ended === null) return NO_CHANGE; // The run is running, or waits for something that resuming does not change.
  if (run.recordOf?.of === "refusal") {
    const message = `run ${run.id} is the record of a refused request, and nothing of it can run; submit it again, corrected`;
    return { events: [], refusal: fault("NOT_POSSIBLE", message) };
  }
  if (run.recordOf?.of === "dry_run") {
    const message = `run ${run.id} is the record of a dry run; submit its plan in another mode`;
    return { events: [], refusal: fault("NOT_POSSIBLE", message) };
  }
  if (run.plan === null) {
    const message = `run ${run.id} was the run of a session, and its calls belong to turns that are over; open the session again`;
    return { events: [], refusal: fault("NOT_POSSIBLE", message) };
  }
  if (run.ended.status !== "partial" && run.ended.status !== "failed") {
    return {
      events: [],
      refusal: fault("NOT_POSSIBLE", `run ${run.id} is ${run.ended.status}; only a partial or failed run is resumed`),
    };
  }
  return { events: [{ type: "run.resumed", at: now, by: principal.id, reason }] };
}

function isRetryable(run: Run): boolean {
  return (run.ended?.status === "partial" || run.ended?.status === "failed") && isRunResumable(run);
}

/** Only a person may resume the run: it may kill more workers, or it continues under other rules. */
function resumeParkedRun(run: Run, command: CommandOf<"resume">): PartialDecision {
  const { verb, principal, reason, held_in, checks = [], now: at } = command;
  if (held_in !== undefined && run.executedRequests.includes(held_in)) return NO_CHANGE;
  const refusal = judgeVerb(principal, "resume:parked", NO_FACTS);
  if (refusal !== null) return { events: [], refusal };
  if (verb !== "resume:parked") {
    const message = `run ${run.id} was parked just now; read why it is parked, then resume it again`;
    return { events: [], refusal: fault("NOT_POSSIBLE", message) };
  }
  return { events: [{ type: "run.resumed", at, by: principal.id, reason, ...(held_in && { held_in }) }], checks };
}

export function recordUndo({
  principal,
  reason,
  acts,
  held_in,
  checks = [],
  now,
}: CommandOf<"tell_undone">): PartialDecision {
  return {
    events: [{ type: "run.undone", at: now, by: principal.id, reason, acts, ...(held_in && { held_in }) }],
    checks,
  };
}

/** Readies the halted steps after a halt is lifted. The start of each step checks for other halts. */
export function wakeHaltedSteps(run: Run, { step_id: away, now: at }: CommandOf<"wake">): PartialDecision {
  if (away !== undefined) return wakeAwayStep(run, away, at);
  const halted = Array.from(run.waiting, ([id]) => run.steps.get(run.index.get(id) as number)).filter(isHaltedStep);
  const why = "a halt was lifted";
  return { events: halted.map(({ spec: { step_id } }) => ({ type: "step.readied", at, step_id, why })) };
}

function wakeAwayStep(run: Run, step_id: StepId, at: Instant): PartialDecision {
  const { standing } = getStep(run, { step_id });
  if (standing.state !== "waiting" || standing.on.for !== "tool") return NO_CHANGE;
  return { events: [{ type: "step.readied", at, step_id, why: "its caller runs it" }] };
}

function isHaltedStep({ standing }: Step): boolean {
  return standing.state === "waiting" && standing.on.for === "halt";
}

/** "!" keeps the id apart from step notices: no step id contains it. */
export function alertBudget(run: Run, { alert, now: at }: CommandOf<"alert">): PartialDecision {
  const notice_id = `ntc_${run.id.slice("run_".length)}_!budget_${run.position + 1}`;
  const notices = [{ notice_id, topic: "budget.alerted", payload: { run_id: run.id, at, ...alert } }];
  return { events: [{ type: "budget.alerted", at, ...alert, charges: [alertCharge(alert)], notices }] };
}

/** The store refuses this charge if the alert was recorded before. */
function alertCharge(alert: BudgetAlert): LimitedCharge {
  return { tally: alertTally(alert), amount: 1, limit: 1 };
}

export function removeNotices(run: Run, command: CommandOf<"deliver" | "withdraw">): PartialDecision {
  return command.type === "deliver" ? deliverNotice(run, command) : withdrawNotices(run, command);
}

function deliverNotice(run: Run, { notice_id, now }: CommandOf<"deliver">): PartialDecision {
  if (!run.notices.has(notice_id)) return NO_CHANGE;
  return { events: [{ type: "notice.delivered", at: now, notice_id }] };
}

/** Withdraws the notices of the engine about an ended run. Those of its tools and of child runs are still delivered. */
function withdrawNotices(run: Run, { now: at }: CommandOf<"withdraw">): PartialDecision {
  if (run.ended === null) return NO_CHANGE;
  const own = Array.from(run.notices, ([, notice]) => notice).filter((notice) => isOwnNotice(notice));
  return { events: own.map(({ notice_id }) => ({ type: "notice.withdrawn", at, notice_id })) };
}

function isOwnNotice({ notice_id, kin }: Notice): boolean {
  return kin === undefined && notice_id.includes("_!");
}
