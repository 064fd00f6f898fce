import type { Ask, Edit } from "../command.ts";
import { demandText, escalatesAfter, isMet, mayVote, partsOf, voteOf } from "../demand.ts";
import type { Event, Notice } from "../event.ts";
import { type Fault, fault } from "../fault.ts";
import type { Instant } from "../id.ts";
import { NOTHING, type Ruling } from "../ruling.ts";
import { type Gate, pollOf, type Run, stepOf } from "../run.ts";
import { isUndo } from "../step.ts";
import { forfeited } from "../trust.ts";

/** A yes: the last one that was asked for lets the call go on, one before it is counted. */
export function approve(run: Run, command: Ask<"approve">): Ruling {
  const { gate_id, principal: by, reason, use_within_ms, edit, now: at } = command;
  const found = decidable(run, command);
  if ("events" in found) return found;
  const use_by = (at + use_within_ms) as Instant;
  if (edit !== undefined) return amended(run, found.gate, command, edit, use_by);
  if (found.gate.votes.some((vote) => vote.by === by.id)) {
    const message = `${by.id} has said yes to gate ${gate_id} before, and is counted once`;
    return contested(command, fault("GATE_DECIDED", message));
  }
  const votes = [...found.gate.votes, voteOf(by, at)];
  if (!isMet(pollOf(run, found.gate), votes)) return { events: [{ type: "gate.endorsed", at, gate_id, by, reason }] };
  return { events: [{ type: "gate.approved", at, gate_id, by, reason, use_by }] };
}

/** One no is enough. */
export function reject(run: Run, command: Ask<"reject">): Ruling {
  const { gate_id, principal: by, reason, in_flight: sparing, now: at } = command;
  const found = decidable(run, command);
  if ("events" in found) return found;
  return { events: [{ type: "gate.rejected", at, gate_id, by, reason, sparing, ...forfeited(command.record) }] };
}

/** Yes, but otherwise. Whether that may be is for the guards to say, when it is about to start. */
function amended(run: Run, gate: Gate, command: Ask<"approve">, edit: Edit, use_by: Instant): Ruling {
  const { gate_id, principal: by, reason, now: at } = command;
  const step = stepOf(run, gate);
  if ("flaw" in edit) return contested(command, edit.flaw);
  if (isUndo(step) || step.act !== null) {
    const why = isUndo(step) ? "undoes an act as it is on record" : "was started before, and is the same act";
    const message = `${gate.step_id} ${why}, so that its call is as it is; approve it as it is shown, or reject it`;
    return contested(command, fault("NOT_POSSIBLE", message));
  }
  return { events: [{ type: "gate.amended", at, gate_id, by, reason, use_by, call: edit.call }] };
}

/** The time of a gate that nobody decided has come. */
export function expire(run: Run, { gate_id, in_flight: sparing, now: at }: Ask<"expire">): Ruling {
  const gate = run.gates.get(gate_id);
  if (gate === undefined || gate.status !== "open") return NOTHING;
  if (at >= gate.expires_at) return { events: [{ type: "gate.expired", at, gate_id, sparing }] };
  const due = escalatesAfter(pollOf(run, gate), gate.told_at ?? gate.opened_at);
  if (due === null || at < due) return NOTHING;
  return { events: [{ type: "gate.escalated", at, gate_id, notices: [escalation(run, gate, at)] }] };
}

/** No step has this in its id, so that no notice of a step has this id. */
function escalation(run: Run, gate: Gate, at: Instant): Notice {
  const { gate_id, step_id, reason, expires_at, opened_at } = gate;
  const notice_id = `ntc_${run.id.slice("run_".length)}_!gate_${run.position + 1}`;
  const to = partsOf(gate.demand)
    .flatMap(({ escalate }) => (escalate !== undefined && opened_at + escalate.after_ms <= at ? [escalate] : []))
    .map(({ role, approvers = [] }) => ({ role, approvers: [...approvers] }));
  const tool = stepOf(run, gate).spec.name;
  return {
    notice_id,
    topic: "gate.escalated",
    payload: { run_id: run.id, gate_id, step_id, tool, reason, expires_at, to },
  };
}

type Deciding = Ask<"approve" | "reject">;

/** The gate, if this principal can decide it now; else why not. That someone tried who may not is worth a record. */
function decidable(run: Run, command: Deciding): { readonly gate: Gate } | Ruling {
  const { gate_id, digest, in_flight: sparing, now } = command;
  const gate = run.gates.get(gate_id);
  if (gate === undefined)
    return { events: [], refusal: fault("GATE_NOT_FOUND", `no gate ${gate_id}; list the open ones`) };
  if (gate.status !== "open") return contested(command, decided(gate));
  if (now >= gate.expires_at) {
    const events = [{ type: "gate.expired", at: now, gate_id, sparing }] as const;
    const message = `gate ${gate_id} expired before it was decided; resume the run to ask again`;
    return { events, refusal: fault("GATE_EXPIRED", message) };
  }
  const forbidden = mayNotDecide(run, gate, command) ?? otherCall(gate, digest);
  return forbidden === null ? { gate } : contested(command, forbidden);
}

function contested({ gate_id, principal: by, now: at }: Deciding, why: Fault): Ruling {
  const event: Event = { type: "gate.contested", at, gate_id, by, fault: why };
  return { events: [event], refusal: why };
}

function decided({ gate_id, status, decided_by }: Gate): Fault {
  const who = decided_by === null ? "" : ` by ${decided_by}`;
  return fault("GATE_DECIDED", `gate ${gate_id} is ${status}${who}; nothing was changed`);
}

/** Who decides has something in mind. If that is another call, they decide nothing. */
function otherCall({ gate_id, call }: Gate, digest: string | undefined): Fault | null {
  if (digest === undefined || digest === call.digest) return null;
  const message = `gate ${gate_id} holds the call ${call.digest}, not ${digest}; look at it again`;
  return fault("GATE_MISMATCH", message, { digest: call.digest });
}

function mayNotDecide(run: Run, gate: Gate, { principal, now }: Deciding): Fault | null {
  const { id, kind } = principal;
  const { gate_id, demand } = gate;
  if (kind !== "person")
    return fault("AUTH_FORBIDDEN", `${kind} ${id} cannot decide gate ${gate_id}; only a person can`);
  const poll = pollOf(run, gate);
  const vote = voteOf(principal, now);
  if (mayVote(poll, vote)) return null;
  const message =
    id === poll.requester && mayVote({ ...poll, requester: "" }, vote)
      ? `${id} asked for this call and cannot decide gate ${gate_id}; someone else must`
      : `${id} cannot decide gate ${gate_id}, which asks for ${demandText(demand)}`;
  return fault("AUTH_FORBIDDEN", message);
}
