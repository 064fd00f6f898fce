import {
  demandParts,
  demandText,
  isConfirmation,
  isDemandMet,
  mayVote,
  nextEscalationAt,
  toVote,
} from "../approval/approval-demand.ts";
import { forfeitTrust } from "../approval/earned-trust.ts";
import { judgeVerb, NO_FACTS } from "../approval/judge-verb.ts";
import { isSamePerson } from "../approval/person-key.ts";
import type { Event, Notice } from "../event/event.ts";
import { deadlineFault } from "../run/deadline-fault.ts";
import { gateVoteTerms } from "../run/gate-vote-terms.ts";
import { type Gate, getStep, type Run } from "../run/run.ts";
import { isOverdue } from "../run/run-wakeups.ts";
import { isUndoStep } from "../run/step.ts";
import { type AskedValue, askedText } from "../tool/asked-data.ts";
import { type Fault, fault } from "../values/fault.ts";
import type { GateId, Instant } from "../values/ids.ts";
import { nameAct } from "./answer-by-named-act.ts";
import type { CallEdit, CommandOf } from "./command.ts";
import { NO_CHANGE, type PartialDecision } from "./partial-decision.ts";

/** Decides a command about a gate. */
export function decideHeldCall(run: Run, command: CommandOf<"approve" | "reject" | "expire">): PartialDecision {
  switch (command.type) {
    case "approve":
      return approveHeldCall(run, command);
    case "reject":
      return rejectHeldCall(run, command);
    case "expire":
      return expireGate(run, command);
  }
}

/** Counts an approving vote. If the demand is met with it, the call may start. */
function approveHeldCall(run: Run, command: CommandOf<"approve">): PartialDecision {
  const { gate_id, principal: by, reason, use_within_ms, edit, now: at } = command;
  const found = findDecidableGate(run, command);
  if ("events" in found) return found;
  const use_by = (at + use_within_ms) as Instant;
  const asked = found.gate.asks_for;
  if (asked !== undefined && (edit === undefined || ("call" in edit && !edit.completes)))
    return contestGate(command, missingDataFault(gate_id, asked));
  if (edit !== undefined) return amendGate(run, found.gate, command, edit, use_by);
  if (found.gate.votes.some((vote) => isSamePerson(vote.by, by.id))) {
    const message = `${by.id} has approved gate ${gate_id} before; each person counts once`;
    return contestGate(command, fault("GATE_DECIDED", message));
  }
  const named = nameAct(run, found.gate, command.same);
  if (named.kind === "refused") return contestGate(command, named.fault);
  const votes = [...found.gate.votes, toVote(by, at)];
  if (!isDemandMet(gateVoteTerms(run, found.gate), votes))
    return { events: [{ type: "gate.endorsed", at, gate_id, by, reason, ...named.act }] };
  return { events: [{ type: "gate.approved", at, gate_id, by, reason, use_by, ...named.act, ...named.row }] };
}

function missingDataFault(gate_id: GateId, asked: readonly AskedValue[]): Fault {
  return fault("INVALID_INPUT", `gate ${gate_id} asks for ${askedText(asked)}; approve it with data`);
}

function rejectHeldCall(run: Run, command: CommandOf<"reject">): PartialDecision {
  const { gate_id, principal: by, reason, in_flight: sparing, now: at } = command;
  const found = findDecidableGate(run, command);
  if ("events" in found) return found;
  return { events: [{ type: "gate.rejected", at, gate_id, by, reason, sparing, ...forfeitTrust(command.record) }] };
}

/** Approves an edited call. The guards judge the edited call when it starts. */
function amendGate(
  run: Run,
  gate: Gate,
  command: CommandOf<"approve">,
  edit: CallEdit,
  use_by: Instant,
): PartialDecision {
  const { gate_id, principal: by, reason, now: at } = command;
  const step = getStep(run, gate);
  if ("flaw" in edit) return contestGate(command, edit.flaw);
  if (isUndoStep(step) || step.act !== null) {
    const why = isUndoStep(step) ? "undoes a recorded act" : "was started before";
    const message = `${gate.step_id} ${why}, so its call cannot be edited; approve it as shown, or reject it`;
    return contestGate(command, fault("NOT_POSSIBLE", message));
  }
  return { events: [{ type: "gate.amended", at, gate_id, by, reason, use_by, call: edit.call }] };
}

/** Expires or escalates an undecided gate that is due. */
function expireGate(run: Run, { gate_id, in_flight: sparing, now: at }: CommandOf<"expire">): PartialDecision {
  const gate = run.gates.get(gate_id);
  if (gate === undefined || gate.status !== "open") return NO_CHANGE;
  const step = getStep(run, gate);
  if (isOverdue(run, step, at)) {
    const late = { step_id: gate.step_id, rule: "deadline", fault: deadlineFault(run, step), sparing } as const;
    return { events: [{ type: "step.rejected", at, ...late }] };
  }
  if (at >= gate.expires_at) return { events: [{ type: "gate.expired", at, gate_id, sparing }] };
  const due = nextEscalationAt(gateVoteTerms(run, gate), gate.escalated_at ?? gate.opened_at);
  if (due === null || at < due) return NO_CHANGE;
  return { events: [{ type: "gate.escalated", at, gate_id, notices: [escalationNotice(run, gate, at)] }] };
}

/** "!" keeps the id apart from step notices: no step id contains it. */
function escalationNotice(run: Run, gate: Gate, at: Instant): Notice {
  const { gate_id, step_id, reason, expires_at, opened_at } = gate;
  const notice_id = `ntc_${run.id.slice("run_".length)}_!gate_${run.position + 1}`;
  const to = demandParts(gate.demand)
    .flatMap(({ escalate }) => (escalate !== undefined && opened_at + escalate.after_ms <= at ? [escalate] : []))
    .map(({ role, approvers = [] }) => ({ role, approvers: [...approvers] }));
  const tool = getStep(run, gate).spec.name;
  return {
    notice_id,
    topic: "gate.escalated",
    payload: { run_id: run.id, gate_id, step_id, tool, reason, expires_at, to },
  };
}

type GateCommand = CommandOf<"approve" | "reject">;

/** Returns the gate if the principal can decide it now; else a refusal, which is recorded. */
function findDecidableGate(run: Run, command: GateCommand): { readonly gate: Gate } | PartialDecision {
  const { gate_id, digest, in_flight: sparing, now } = command;
  const gate = run.gates.get(gate_id);
  if (gate === undefined)
    return { events: [], refusal: fault("GATE_NOT_FOUND", `no gate ${gate_id}; list the open ones`) };
  if (gate.status !== "open") return contestGate(command, alreadyDecidedFault(gate));
  if (now >= gate.expires_at) {
    const events = [{ type: "gate.expired", at: now, gate_id, sparing }] as const;
    const message = `gate ${gate_id} expired before it was decided; resume the run to ask again`;
    return { events, refusal: fault("GATE_EXPIRED", message) };
  }
  const refused = forbiddenFault(run, gate, command) ?? digestMismatchFault(gate, digest);
  return refused === null ? { gate } : contestGate(command, refused);
}

function contestGate({ gate_id, principal: by, contest, now: at }: GateCommand, why: Fault): PartialDecision {
  if (contest === "unrecorded") return { events: [], refusal: why };
  const charges = contest === undefined ? {} : { charges: [contest.charge] };
  const event: Event = { type: "gate.contested", at, gate_id, by, fault: why, ...charges };
  return { events: [event], refusal: why };
}

function alreadyDecidedFault({ gate_id, status, decided_by }: Gate): Fault {
  return fault("GATE_DECIDED", `${decidedText(status, decided_by)}; nothing was changed at gate ${gate_id}`);
}

function decidedText(status: Gate["status"], decider: string | null): string {
  const by = decider ?? "a person";
  switch (status) {
    case "consumed":
      return `${by} already approved it, and the call was made`;
    case "approved":
    case "rejected":
      return `${by} already ${status} it`;
    default:
      return `it is ${status}`;
  }
}

/** Returns a fault if the decision names the digest of another call than the gate holds. */
function digestMismatchFault({ gate_id, call }: Gate, digest: string | undefined): Fault | null {
  if (digest === undefined || digest === call.digest) return null;
  const message = `gate ${gate_id} holds the call ${call.digest}, not ${digest}; read the gate again`;
  return fault("GATE_MISMATCH", message, { digest: call.digest });
}

function forbiddenFault(run: Run, gate: Gate, command: GateCommand): Fault | null {
  const { type, principal, now } = command;
  const { id } = principal;
  const { gate_id, demand } = gate;
  if (type === "approve" && command.confirms) return unconfirmableFault(gate);
  const refused = judgeVerb(principal, type, NO_FACTS);
  if (refused !== null) return refused;
  const poll = gateVoteTerms(run, gate);
  const vote = toVote(principal, now);
  if (mayVote(poll, vote)) return null;
  const message =
    isSamePerson(id, poll.requester) && mayVote({ ...poll, requester: "" }, vote)
      ? `${id} requested this call and cannot decide gate ${gate_id}; another person must`
      : `${id} cannot decide gate ${gate_id}, which needs ${demandText(demand)}`;
  return fault("AUTH_FORBIDDEN", message);
}

/** A client only reports what a person may have said. That meets a confirmation, and never an approval. */
function unconfirmableFault({ gate_id, demand }: Gate): Fault | null {
  if (isConfirmation(demand)) return null;
  const message = `gate ${gate_id} needs ${demandText(demand)}; what a client reports confirms a call and never approves it`;
  return fault("AUTH_FORBIDDEN", message);
}
