import { farewells } from "../child.ts";
import type { Ask } from "../command.ts";
import type { Event } from "../event.ts";
import { fault } from "../fault.ts";
import type { Instant } from "../id.ts";
import { type Alert, alertTally } from "../limits/alert.ts";
import type { Reserved } from "../limits/charged.ts";
import { lean } from "../plan/plan.ts";
import type { Principal } from "../principal.ts";
import { NOTHING, type Ruling } from "../ruling.ts";
import type { Run } from "../run.ts";
import type { Step } from "../step.ts";

export function accept(run: Run, command: Ask<"accept">): Ruling {
  if (run.position > 0) return NOTHING; // The same command again, after an answer that was lost.
  const { type: _type, now, inherited = [], cancelled: reason, ...given } = command;
  const plan = command.plan && { ...command.plan, steps: command.plan.steps.map(lean) };
  const done = inherited.map(
    (step): Event => ({ type: "step.succeeded", at: now, attempt: 0, started_at: now, ...step }),
  );
  const accepted: Event = { type: "run.accepted", at: now, tenant: run.tenant, ...given, plan };
  if (reason === undefined) return { events: [accepted, ...done] };
  return { events: [accepted, { type: "cancel.requested", at: now, by: given.principal.id, reason }] };
}

/** Goes on top of what was done since; what is as it was needs nothing. */
export function restore(_run: Run, { principal, reason, to, state, files, now }: Ask<"restore">): Ruling {
  const { flaw, change } = state;
  if (flaw !== null) return { events: [], refusal: flaw };
  if (change === null && files === null) return NOTHING;
  const changed = { ...(change !== null && { state: change }), ...files };
  return { events: [{ type: "state.restored", at: now, by: principal.id, reason, to, ...changed }] };
}

export function propose(run: Run, { step, pin, now }: Ask<"propose">): Ruling {
  if (run.index.has(step.step_id)) return NOTHING; // A loop that was killed meets its own steps.
  if (!run.open) {
    const message = `run ${run.id} takes no more steps; open a new one`;
    return { events: [], refusal: fault("NOT_POSSIBLE", message) };
  }
  return {
    events: [{ type: "step.proposed", at: now, step_id: step.step_id, step: lean(step), pin, cause: { by: "agent" } }],
  };
}

export function close(run: Run, { now }: Ask<"close">): Ruling {
  return run.open ? { events: [{ type: "run.closed", at: now }] } : NOTHING;
}

export function cancel(run: Run, { principal, reason, now }: Ask<"cancel">): Ruling {
  if (run.cancel !== null) return NOTHING;
  if (run.ended !== null) {
    return {
      events: [],
      refusal: fault("NOT_POSSIBLE", `run ${run.id} has ended (${run.ended.status}); there is nothing to cancel`),
    };
  }
  const notices = farewells(run);
  const told = notices.length === 0 ? {} : { notices };
  return { events: [{ type: "cancel.requested", at: now, by: principal.id, reason, ...told }] };
}

export function resume(run: Run, { principal, reason, now }: Ask<"resume">): Ruling {
  if (run.ended === null && run.poison !== null) return released(run, principal, reason, now);
  if (run.ended === null) return NOTHING; // It is under way, or waits for something that resuming does not bring.
  if (run.ended.status !== "partial" && run.ended.status !== "failed") {
    return {
      events: [],
      refusal: fault("NOT_POSSIBLE", `run ${run.id} is ${run.ended.status}; only a partial or failed run is resumed`),
    };
  }
  return { events: [{ type: "run.resumed", at: now, by: principal.id, reason }] };
}

/** It may kill more workers: someone has to answer for that. */
function released(run: Run, { id, kind }: Principal, reason: string, at: Instant): Ruling {
  if (kind === "person") return { events: [{ type: "run.resumed", at, by: id, reason }] };
  const message = `${kind} ${id} cannot resume run ${run.id}, which is parked as poison; only a person can`;
  return { events: [], refusal: fault("AUTH_FORBIDDEN", message) };
}

export function tellUndone({ principal, reason, acts, now }: Ask<"tell_undone">): Ruling {
  return { events: [{ type: "run.undone", at: now, by: principal.id, reason, acts }] };
}

/** A halt was lifted. Another one may still stand: whoever starts a step looks. */
export function wake(run: Run, { now: at }: Ask<"wake">): Ruling {
  const halted = Array.from(run.waiting, ([id]) => run.steps.get(run.index.get(id) as number)).filter(isHalted);
  const why = "a halt was lifted";
  return { events: halted.map(({ spec: { step_id } }) => ({ type: "step.readied", at, step_id, why })) };
}

function isHalted({ standing }: Step): boolean {
  return standing.state === "waiting" && standing.on.for === "halt";
}

/** No step has an exclamation mark in its id, so that no notice of one has this id. */
export function alert(run: Run, { alert: said, now: at }: Ask<"alert">): Ruling {
  const notice_id = `ntc_${run.id.slice("run_".length)}_!budget_${run.position + 1}`;
  const notices = [{ notice_id, topic: "budget.alerted", payload: { run_id: run.id, at, ...said } }];
  return { events: [{ type: "budget.alerted", at, ...said, charges: [told(said)], notices }] };
}

/** Refused by the store if somebody was told before. */
function told(said: Alert): Reserved {
  return { tally: alertTally(said), amount: 1, limit: 1 };
}

export function deliver(run: Run, { notice_id, now }: Ask<"deliver">): Ruling {
  if (!run.notices.has(notice_id)) return NOTHING;
  return { events: [{ type: "notice.delivered", at: now, notice_id }] };
}
