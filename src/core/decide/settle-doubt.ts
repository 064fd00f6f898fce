import { forfeitTrust } from "../approval/earned-trust.ts";
import { judgeVerb, NO_FACTS } from "../approval/judge-verb.ts";
import type { Settlement } from "../event/doubt-settlement.ts";
import type { Event, StepsInFlight } from "../event/event.ts";
import type { LedgerRowVersion } from "../event/ledger-row-version.ts";
import type { TallyCharge } from "../limits/tally-charge.ts";
import { leanStep, type PlanStep, planStep } from "../plan/plan.ts";
import { findStep, type Run } from "../run/run.ts";
import { startsNoMore } from "../run/starts-no-more.ts";
import { type Act, isUndoStep, type Step, stepPace, undoStepId } from "../run/step.ts";
import { waitTimes } from "../time/wait-times.ts";
import { assert } from "../values/assert.ts";
import { type Fault, fault } from "../values/fault.ts";
import type { HeldIn } from "../values/held-in.ts";
import type { Instant } from "../values/ids.ts";
import type { CommandOf, Resolution } from "./command.ts";
import { nextLedgerVersion, receiptVersion, uncompensatedEvent, withCompensation } from "./end-attempt.ts";
import { settleCharges } from "./limit-charges.ts";
import { NO_CHANGE, type PartialDecision } from "./partial-decision.ts";

export function actVersionAfter(step: Step): LedgerRowVersion {
  assert(step.act !== null, "only an act has a ledger row");
  return nextLedgerVersion(step.act);
}

/** Records that the ledger row belongs to a later generation, so that this act does not change the row any more. */
export function supersedeAct(run: Run, { step_id, by, now }: CommandOf<"supersede">): PartialDecision {
  const act = findStep(run, step_id)?.act;
  if (act == null || act.superseded || by.generation <= act.generation) return NO_CHANGE;
  return { events: [{ type: "step.superseded", at: now, step_id, by }] };
}

/** Settles a doubt without a person: by the answer of the verifier, then by the promise of the tool. */
export function settleDoubt(
  run: Run,
  { step_id, sighting, flaw, sender, quiet_in, in_flight, now }: CommandOf<"settle">,
): PartialDecision {
  const step = findStep(run, step_id);
  assert(step !== undefined, "only a step of the run is settled");
  const { standing } = step;
  if (standing.state !== "in_doubt" || run.parked !== null) return NO_CHANGE;
  const { exits, absent_at } = standing.doubt;
  const by = (
    settled: Settlement,
    who: string,
    reason: string,
    more: Pick<SettlementDetails, "sparing"> = {},
  ): PartialDecision => settleAs(run, step, settled, { by: who, reason, at: now, confirmed: true, ...more });
  if (sighting?.saw === "happened") {
    const invalid = isUndoStep(step) ? null : flaw; // No step uses the output of an undo.
    const settled = { as: "happened", output: sighting.output, fault: invalid } as const;
    return by(settled, "verifier", "the verifier saw it", invalid === null ? {} : { sparing: in_flight });
  }
  if (sighting?.saw === "absent" && sender !== null) {
    const why = `absent proves nothing yet: worker ${sender} made the call and may still run it`;
    const next_at = (now + senderPause(now - standing.since)) as Instant;
    return { events: [{ type: "step.probed", at: now, step_id, saw: "unknown", why, next_at }] };
  }
  if (sighting?.saw === "absent") {
    if (absent_at !== null && quiet_in === 0)
      return by({ as: "absent" }, "verifier", "the verifier found it absent twice");
    const next_at = (now + quiet_in) as Instant;
    return {
      events: [{ type: "step.probed", at: now, step_id, saw: "absent", why: "absent once proves nothing", next_at }],
    };
  }
  const sendAt = resendAt(step, now);
  const maySend = exits.resend_until !== null && sendAt < exits.resend_until && mayResendAct(run, step);
  if (maySend && sendAt === now)
    return by({ as: "resend" }, "declaration", "the tool promises that the same key acts only once");
  const why = sighting?.why ?? (maySend ? "it was sent again recently" : "no verifier can settle it");
  return {
    events: [{ type: "step.probed", at: now, step_id, saw: "unknown", why, next_at: maySend ? sendAt : null }],
  };
}

/** The pause before the next look at a doubt whose call may still run. It grows with the time that has passed. */
function senderPause(elapsed: number): number {
  return Math.min(waitTimes.senderPollMaxMs, Math.max(waitTimes.stepPollMinMs, elapsed));
}

/** Returns when the identical call may be sent again: at once the first time, then with increasing pauses. */
function resendAt({ act }: Step, now: Instant): Instant {
  if (act === null || act.sends === 1) return now; // Not decided by times, because a clock may stand still.
  if (now < act.started_at) return now; // The clock was set back.
  const elapsed = act.started_at - act.sent_at;
  const pause = Math.min(waitTimes.actResendMaxMs, Math.max(waitTimes.actResendMinMs, elapsed));
  return Math.max(now, act.started_at + pause) as Instant;
}

/** A run that is cancelled, closed or stopped sends no call again, except for an undo; a call that a branch has left neither. */
function mayResendAct(run: Run, step: Step): boolean {
  return isUndoStep(step) || (!startsNoMore(run, step) && run.stopped === null);
}

interface SettlementDetails extends HeldIn {
  readonly by: string;
  readonly reason: string;
  readonly at: Instant;
  /** The steps in flight, which are not skipped if the settlement ends the plan. */
  readonly sparing?: StepsInFlight;
  /** For an undo: a verifier confirmed it. */
  readonly confirmed: boolean;
}

function settleAs(run: Run, step: Step, settled: Settlement, details: SettlementDetails): PartialDecision {
  const { confirmed, ...fields } = details;
  assert(step.act !== null, "only an act is settled");
  const changed = settled.as === "happened" ? receiptVersion(step, step.act) : nextLedgerVersion(step.act);
  const ledger = settled.as === "resend" ? null : changed;
  const { step_id } = step.spec;
  const event = {
    type: "step.settled",
    step_id,
    settled,
    ledger,
    ...fields,
    ...releasedCharges(step, settled),
  } as const;
  if (settled.as === "happened") return { events: withCompensation(run, step, [event], confirmed) };
  if (settled.as !== "given_up" || step.cause?.by !== "undo") return { events: [event] };
  const { of } = step.cause; // Settling the doubt about an undo settles the act it undoes.
  const { by, at } = fields;
  return {
    events: [event, uncompensatedEvent(run, of, fault("OUTCOME_UNKNOWN", `${by} gave up on undoing ${of}`), at)],
  };
}

/** Releases the reserved amounts of an act that did not happen, except the cost that its handler reported. */
export function releasedCharges(step: Step, { as }: Settlement): { readonly charges?: readonly TallyCharge[] } {
  if (as !== "not_done" && as !== "absent") return {};
  const charges = settleCharges(step, [], { cost: null, ms: 0, for: "nothing" });
  return charges.length === 0 ? {} : { charges };
}

/** Settles a doubt by the decision of a person. */
export function resolveDoubt(run: Run, command: CommandOf<"resolve">): PartialDecision {
  const { checks = [] } = command;
  const decision = resolveAs(run, command);
  return checks.length === 0 || decision.events.length === 0 ? decision : { ...decision, checks };
}

function resolveAs(run: Run, command: CommandOf<"resolve">): PartialDecision {
  const { step_id, principal, verdict, attempt, reason, in_flight, held_in, now } = command;
  const requested = held_in === undefined ? {} : { held_in };
  const step = findStep(run, step_id);
  if (step === undefined) return refuseCommand(fault("STEP_NOT_FOUND", `run ${run.id} has no step ${step_id}`));
  if (verdict.as === "verify") return requestVerification(step, principal.id, now);
  const forbidden = judgeVerb(principal, "resolve", NO_FACTS);
  if (forbidden !== null) return refuseCommand(forbidden);
  if (attempt !== null && attempt !== (step.act?.attempt ?? step.attempts)) {
    const message = `${step_id} was started again after attempt ${attempt}, which the decision is about; read the step again`;
    return refuseCommand(fault("NOT_POSSIBLE", message));
  }
  if (isUnrestored(step) && verdict.as === "absent") {
    const settled = { as: "absent" } as const;
    const event = {
      type: "step.settled",
      at: now,
      step_id,
      settled,
      by: principal.id,
      reason,
      ledger: null,
      ...requested,
    };
    return { events: [event as Event] };
  }
  if (verdict.as === "undo") return undoAct(run, step, verdict, { by: principal.id, reason, at: now, ...requested });
  if (!isResolvable(step, verdict)) {
    const message = `${step_id} is ${step.standing.state}; only an act in doubt, one with an invalid output, or a call whose files cannot be restored is settled by a person`;
    return refuseCommand(fault("NOT_POSSIBLE", message));
  }
  if (verdict.as === "happened" && verdict.flaw !== null) return refuseCommand(verdict.flaw);
  const settled = toSettlement(verdict);
  const fails = settled.as === "given_up" || (settled.as === "happened" && settled.fault !== null);
  const ends = fails ? { sparing: in_flight } : {};
  return settleAs(run, step, settled, { by: principal.id, reason, at: now, confirmed: false, ...ends, ...requested });
}

/** Schedules another verification. Any principal may request it, because only its result can settle the doubt. */
function requestVerification({ spec: { step_id }, standing }: Step, by: string, at: Instant): PartialDecision {
  if (standing.state !== "in_doubt")
    return refuseCommand(
      fault("NOT_POSSIBLE", `${step_id} is ${standing.state}; only an act in doubt is verified again`),
    );
  const { exits, next } = standing.doubt;
  if (!exits.verify)
    return refuseCommand(
      fault("NOT_POSSIBLE", `the tool of ${step_id} has no verifier; find out whether it happened, then resolve it`),
    );
  if (next.do === "settle" || (next.do === "look_again" && next.at <= at)) return NO_CHANGE; // A verification is due already.
  return {
    events: [
      { type: "step.probed", at, step_id, saw: "unknown", why: `${by} requested another verification`, next_at: at },
    ],
  };
}

/** True if the call has ended, does not act, and the resources that it may have changed are not restored. */
function isUnrestored({ act, captures, standing }: Step): boolean {
  return act === null && captures.length > 0 && stepPace(standing) === "done";
}

function isResolvable({ standing, act }: Step, verdict: Resolution): boolean {
  if (standing.state === "in_doubt") return true;
  return verdict.as === "happened" && act?.state === "committed" && !act.usable;
}

function toSettlement(verdict: Exclude<Resolution, { as: "undo" | "verify" }>): Settlement {
  if (verdict.as === "happened") return { as: "happened", output: verdict.output, fault: verdict.missing ?? null };
  return { as: verdict.as === "absent" ? "absent" : "given_up" };
}

function undoAct(
  run: Run,
  step: Step,
  { tool, record }: Extract<Resolution, { as: "undo" }>,
  request: HeldIn & { readonly by: string; readonly reason: string; readonly at: Instant },
): PartialDecision {
  const impossible = atomicUndoFault(run, step) ?? undoFault(step, tool) ?? repeatedUndoFault(run, step);
  if (impossible !== null) return refuseCommand(impossible);
  return { events: undoEvents(run, step, { ...request, ...forfeitTrust(record) }) };
}

interface UndoRequest extends HeldIn {
  readonly by: string;
  readonly reason: string;
  readonly at: Instant;
  readonly charges?: readonly TallyCharge[];
  /** Present if no person requested the undo. */
  readonly rollback?: true;
}

/** Returns the events that begin the undo of an act. */
export function undoEvents(run: Run, step: Step, { rollback, ...request }: UndoRequest): readonly Event[] {
  const ledger = actVersionAfter(step);
  const { by, at } = request;
  const step_id = undoStepId(step, ledger.generation);
  const isRepeated = run.index.has(step_id); // A failed undo that is requested again is the same step.
  const events: Event[] = [{ type: "step.compensating", step_id: step.spec.step_id, ledger, ...request }];
  if (isRepeated) events.push({ type: "step.readied", at, step_id, why: `${by} requested the undo again` });
  else
    events.push({
      type: "step.proposed",
      at,
      step_id,
      step: leanStep(undoStep(step, step_id)),
      pin: step.pin,
      cause: { by: "undo", of: step.spec.step_id, asked_by: by, ...(rollback && { rollback }) },
    });
  return events;
}

/** An atomic plan in progress is whole or nothing, so none of its acts is undone by itself. */
function atomicUndoFault({ id, plan, ended, rollback }: Run, { spec: { step_id } }: Step): Fault | null {
  if (plan?.atomicity !== "plan" || ended !== null || rollback !== null) return null;
  const message = `${step_id} is part of an atomic plan in progress; cancel run ${id}, which undoes all of it`;
  return fault("NOT_POSSIBLE", message);
}

function undoFault(
  { spec, standing, act, cause }: Step,
  tool: { readonly compensates: boolean; readonly safeIfAbsent: boolean } | null,
): Fault | null {
  if (cause?.by === "undo")
    return fault(
      "NOT_POSSIBLE",
      `${spec.step_id} undoes ${cause.of} and cannot itself be undone; run the act again instead`,
    );
  if (tool === null || !tool.compensates)
    return fault("NOT_POSSIBLE", `${spec.name} declares no compensation; ${spec.step_id} cannot be undone here`);
  if (standing.state === "in_doubt" && !tool.safeIfAbsent) {
    return fault(
      "NOT_POSSIBLE",
      `${spec.step_id} is in doubt, and its undo is not declared safe for an act that never happened; settle the doubt first`,
    );
  }
  const undoable =
    standing.state === "in_doubt" || standing.state === "compensation_failed" || act?.state === "committed";
  return undoable ? null : fault("NOT_POSSIBLE", `${spec.step_id} is ${standing.state}; there is no act to undo`);
}

/** Returns a fault if an earlier undo may have happened: an undo is one act, and another request would repeat it. */
function repeatedUndoFault(run: Run, step: Step): Fault | null {
  const earlier = findStep(run, undoStepId(step, (step.act as Act).generation));
  if (earlier === undefined) return null;
  const { step_id } = earlier.spec;
  if (!isUndoStep(earlier))
    return fault("NOT_POSSIBLE", `the run has another step ${step_id}; undo ${step.spec.step_id} manually`);
  if (earlier.act?.state !== "given_up") return null;
  return fault("NOT_POSSIBLE", `${step_id} was given up and may have happened; it is not repeated automatically`);
}

function undoStep({ spec }: Step, step_id: PlanStep["step_id"]): PlanStep {
  const { kind, name, policy_tags, cache_policy, on_rejected, retries, timeout_ms } = spec;
  const copied = { kind, name, policy_tags, cache_policy, on_rejected, retries, timeout_ms };
  return planStep({ ...copied, step_id, effect: "acts", on_failure: "skip" });
}

function refuseCommand(refusal: Fault): PartialDecision {
  return { events: [], refusal };
}
