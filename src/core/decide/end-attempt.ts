import { isSamePerson } from "../approval/person-key.ts";
import { previewMismatch } from "../approval/result-preview.ts";
import { costCharges } from "../call/cost-charges.ts";
import type { ToolFacts } from "../call/proposal.ts";
import type { DoubtExits } from "../event/doubt-settlement.ts";
import type { Event } from "../event/event.ts";
import type { LedgerRowVersion } from "../event/ledger-row-version.ts";
import type { TallyCharge } from "../limits/tally-charge.ts";
import { leanStep } from "../plan/plan.ts";
import { outputProvenance } from "../run/output-provenance.ts";
import { findStep, getStep, type Run } from "../run/run.ts";
import { startsNoMore } from "../run/starts-no-more.ts";
import { type Act, isReversal, isStartable, isUndoStep, mayBeSkipped, type Step } from "../run/step.ts";
import type { StateChange } from "../state/state-change.ts";
import { assert } from "../values/assert.ts";
import { type Effect, type WorldOutcome, worseEffect } from "../values/effect.ts";
import { type Fault, fault, isFreeRetry } from "../values/fault.ts";
import type { Instant, StepId } from "../values/ids.ts";
import { type Json, sameJson } from "../values/json.ts";
import type { CommandOf, Grant, StateFact } from "./command.ts";
import { doubtNotices } from "./doubt-notice.ts";
import { lastApprovedGate } from "./find-approval.ts";
import { type AttemptCost, settleCharges } from "./limit-charges.ts";
import { NO_CHANGE, type PartialDecision } from "./partial-decision.ts";
import { replannedEvents } from "./replan-run.ts";
import { retryAt } from "./retry-policy.ts";

type EndCommand = CommandOf<"end">;

/** Decides the result of an attempt for its step, the world and the ledger. See docs/design.md, section 5. */
export function endAttempt(run: Run, command: EndCommand): PartialDecision {
  const { grant } = command;
  const step = findStep(run, grant.step_id);
  assert(step !== undefined, "only a step of the run ends");
  if (!isCurrent(step, command)) return endLateAttempt(run, step, command);
  const effect = worseEffect(step.spec.effect, command.tool.effect);
  return effect === "acts" ? endAct(run, step, command) : endWithoutAct(run, step, command, effect);
}

/** True if the step still runs this attempt, or could start it if it is not recorded. */
function isCurrent(step: Step, { grant }: EndCommand): boolean {
  const { standing } = step;
  if (grant.recorded) return standing.state === "running" && standing.attempt === grant.attempt;
  return isStartable(step, grant.started_at) && step.attempts + 1 === grant.attempt;
}

/** A late output settles an act in doubt. The journal keeps any other late output if the start is recorded. */
function endLateAttempt(run: Run, step: Step, command: EndCommand): PartialDecision {
  const { ending, grant, now } = command;
  const act = step.standing.state === "in_doubt" && step.act?.attempt === grant.attempt ? step.act : null;
  if (act !== null && ending.how === "value") return endAct(run, step, command);
  if (act !== null && step.external !== null) return ending.how === "unheard" ? NO_CHANGE : endAct(run, step, command); // The host knows what it did.
  if (act !== null && ending.how === "unheard") {
    const { alive: _alive, ...doubted } = doubtedEvent(run, step, act, command, ending.fault);
    return { events: [hasOtherCalls(act, command) ? { ...doubted, alive: true } : doubted] };
  }
  if (grant.recorded && ending.how === "value" && !isRepeatedReport(step, ending.output)) {
    return {
      events: [
        { type: "evidence.kept", at: now, step_id: grant.step_id, attempt: grant.attempt, evidence: ending.output },
      ],
    };
  }
  return isWithdrawn(step, command) && command.cost !== null
    ? { events: [cancelledEvent(run, step, command)] }
    : NO_CHANGE;
}

/** A host that got no answer reports the same end again. */
function isRepeatedReport({ external, standing }: Step, output: Json): boolean {
  return external !== null && standing.state === "succeeded" && sameJson(standing.output, output);
}

/** True if the step was cancelled or skipped while this attempt ran without a recorded start. */
function isWithdrawn({ standing, attempts }: Step, { grant }: EndCommand): boolean {
  if (standing.state !== "cancelled" && standing.state !== "skipped") return false;
  return !grant.recorded && grant.attempt === attempts + 1;
}

function endAct(run: Run, step: Step, command: EndCommand): PartialDecision {
  const { ending } = command;
  const { act } = step;
  assert(act !== null, "an act that ends was started on the record");
  if (ending.how === "value") {
    const ledger = receiptVersion(step, act);
    // No step uses the output of an undo.
    const flaw = (isUndoStep(step) ? null : ending.flaw) ?? stateFaultAfterAct(step, command.state);
    return flaw === null
      ? { events: succeededEvents(run, step, command, "side_effect_committed", ledger) }
      : {
          events: withCompensation(
            run,
            step,
            [unusableOutputEvent(run, step, command, flaw, ledger)],
            command.confirmed,
          ),
        };
  }
  // If the call was sent twice, "not_done" says nothing about the first call.
  if (provesNothingDone(command) && act.doubt === null)
    return failAttempt(run, step, command, ending.fault, nextLedgerVersion(act));
  return { events: [doubtedEvent(run, step, act, command, ending.fault)] };
}

/** Returns a fault if the state change of an act is invalid. The act happened all the same. */
function stateFaultAfterAct({ spec }: Step, state: StateFact | null): Fault | null {
  if (state === null || state.fault === null) return null;
  const { code, message } = state.fault;
  return fault("STATE_AFTER_ACT", `${spec.step_id} was done, but its state change is invalid: ${message}`, { code });
}

function provesNothingDone({ ending, tool }: EndCommand): boolean {
  return ending.how === "not_done" || (ending.how === "error" && tool.errorsMean === "not_done");
}

function endWithoutAct(run: Run, step: Step, command: EndCommand, effect: Effect): PartialDecision {
  const { ending, state } = command;
  if (startsNoMore(run, step) && !isReversal(step) && ending.how !== "value")
    return { events: [cancelledEvent(run, step, command)] };
  if (ending.how !== "value") return failAttempt(run, step, command, ending.fault);
  const flaw = ending.flaw ?? state?.fault ?? refusedPlan(command);
  if (flaw !== null) return failAttempt(run, step, command, flaw);
  if (state !== null && state.conflict !== null)
    return failAttempt(run, step, command, stateConflictFault(step, state.conflict));
  const gate = command.grant.recorded ? lastApprovedGate(run, step) : null;
  const other = gate && previewMismatch(gate, ending.output, state?.written ?? null);
  if (other !== null) return failAttempt(run, step, command, other);
  const events = succeededEvents(run, step, command, effect === "writes" ? "state_changed" : "pure");
  const more = replannedEvents(step, command.replan, command.now);
  return { events: more.length === 0 ? events : [...events, ...more] };
}

/** Returns why the plan that a replanner has answered is refused, or null. */
function refusedPlan({ replan }: EndCommand): Fault | null {
  return replan !== undefined && "refused" in replan ? replan.refused : null;
}

function stateConflictFault({ spec }: Step, where: string): Fault {
  return fault(
    "STATE_CONFLICT",
    `${where} was changed by others while ${spec.step_id} worked with it; it is run again`,
  );
}

/** True if the input differs from the payload of the plan and no event records it yet. */
function isDerived({ proposal, recorded }: Grant): boolean {
  return proposal.derived && !recorded;
}

/** Returns the fields that every end event has. */
function endFields(run: Run, step: Step, command: EndCommand) {
  const { grant, now, reported_by } = command;
  const { step_id, attempt, started_at, proposal } = grant;
  const basis = grant.recorded || grant.basis === null ? {} : { basis: grant.basis };
  const head = { at: now, step_id, attempt, started_at, ...basis, ...(reported_by !== undefined && { reported_by }) };
  const derived = isDerived(grant) ? { input: proposal.input, ...head } : head;
  const spent = costFields(run, step, command);
  return spent === null ? derived : { ...spent, ...derived };
}

/** Returns the cost and the charges, or null if there are none. */
function costFields(run: Run, step: Step, command: EndCommand): CostFields | null {
  const { cost, now, grant } = command;
  const { limits } = grant.proposal;
  const settled = [
    ...(limits.length === 0 && step.reserved.length === 0
      ? NONE
      : settleCharges(step, limits, attemptCost(step, command))),
    ...trustEarned(run, step, command),
  ];
  if (cost !== null) return { cost, charges: [...costCharges(run, cost, now), ...settled] };
  return settled.length === 0 ? null : { charges: settled };
}

/** A successful call that another person than the requester approved earns trust. */
function trustEarned(run: Run, step: Step, { grant, ending, state }: EndCommand): readonly TallyCharge[] {
  const { record } = grant.proposal;
  if (record === null || isUndoStep(step) || ending.how !== "value" || ending.flaw !== null || state?.fault)
    return NONE;
  const isApproved = lastApprovedGate(run, step)?.votes.some(({ by }) => !isSamePerson(by, run.principal.id)) === true;
  return isApproved ? [{ tally: record.tally, amount: 1 }] : NONE;
}

type CostFields = Pick<SucceededEvent, "cost" | "charges">;

const NONE: readonly never[] = [];

function attemptCost({ act }: Step, command: EndCommand): AttemptCost {
  const { cost, now, grant, ending } = command;
  const ms = Math.max(0, now - grant.started_at);
  if (ending.how === "value") return { cost, ms, for: "all" };
  // For a call that was sent again, this proves nothing about the first call.
  if (provesNothingDone(command) && !act?.doubt) return { cost, ms, for: "nothing" };
  return { cost, ms, for: ending.how === "error" && act === null ? "all" : "unknown" };
}

function succeededEvents(
  run: Run,
  step: Step,
  command: EndCommand,
  world: WorldOutcome,
  ledger?: LedgerRowVersion,
): readonly Event[] {
  const { ending, errands, now, notices, reuse, grant, state } = command;
  assert(ending.how === "value", "only a value succeeds");
  const { step_id, attempt, started_at, proposal } = grant;
  // The common fields come first and rare ones are added, so that most events share one hidden class.
  const event: SucceededDraft = {
    type: "step.succeeded",
    output: ending.output,
    world,
    at: now,
    step_id,
    attempt,
    started_at,
  };
  if (ending.contents !== undefined) event.contents = ending.contents;
  if (isDerived(grant)) event.input = proposal.input;
  if (grant.basis !== null && !grant.recorded) event.basis = grant.basis;
  if (command.reported_by !== undefined) event.reported_by = command.reported_by;
  Object.assign(event, costFields(run, step, command));
  if (command.changes !== undefined) event.changes = command.changes;
  if (ledger !== undefined) event.ledger = ledger;
  if (notices.length > 0) event.notices = notices;
  const made = outputProvenance(run.id, step, proposal.call?.digest ?? null, reuse?.key ?? null);
  if (made !== null) event.outcome = made;
  if (state !== null) Object.assign(event, stateFields(state, "change"));
  if (command.closings !== undefined) event.closings = command.closings;
  if (errands.length === 0 && step.cause?.by !== "undo") return [event];
  const more = errands
    .filter(({ step: errand }) => !run.index.has(errand.step_id))
    .map(
      ({ step: errand, pin, cause }): Event => ({
        type: "step.proposed",
        at: now,
        step_id: errand.step_id,
        step: leanStep(errand),
        pin,
        cause,
      }),
    );
  return withCompensation(run, step, [event, ...more], command.confirmed);
}

type SucceededDraft = { -readonly [Field in keyof SucceededEvent]: SucceededEvent[Field] };
type SucceededEvent = Extract<Event, { type: "step.succeeded" }>;

/** Records an act with an invalid output. It is not retried, and no step may use the output. */
function unusableOutputEvent(run: Run, step: Step, command: EndCommand, flaw: Fault, ledger: LedgerRowVersion): Event {
  const { ending } = command;
  assert(ending.how === "value", "only a value can be an invalid output");
  const { output, contents } = ending;
  const why = { fault: flaw, retry_at: null, world: "compensatable_failure", sparing: command.in_flight } as const;
  return {
    ...endFields(run, step, command),
    type: "step.failed",
    ...why,
    output,
    ...(contents !== undefined && { contents }),
    ...changeFields(command),
    ledger,
    ...stateFields(command.state, "logged"),
  };
}

function failAttempt(run: Run, step: Step, end: EndCommand, why: Fault, ledger?: LedgerRowVersion): PartialDecision {
  const { grant, tool, now, dice, in_flight } = end;
  const retry_at = isOfHost(step, grant, why)
    ? null
    : retryAt(run, step, tool, why, { attempt: grant.attempt, now, dice });
  const event: Event = {
    ...endFields(run, step, end),
    type: "step.failed",
    fault: why,
    retry_at,
    world: retry_at === null ? "permanent_failure" : "retryable_failure",
    ...heartbeatFields(end),
    ...stateFields(end.state, isConflictRetry(why, retry_at) ? "nothing" : "logged"),
    ...changeFields(end),
    ...(refusedPlan(end) === why && end.ending.how === "value" && { output: end.ending.output }),
    ...(ledger && { ledger }),
    ...(retry_at === null && { sparing: in_flight, ...(mayBeSkipped(step) && { skips: true }) }),
  };
  return { events: retry_at === null ? withCompensation(run, step, [event]) : [event] };
}

/** True if the host did the work of the attempt itself. The engine cannot repeat that; the agent proposes a new call. */
function isOfHost({ external }: Step, { attempt }: Grant, why: Fault): boolean {
  return external?.attempt === attempt && !isFreeRetry(why);
}

/** True if the attempt runs again because of a state conflict. Its log entries are then not published. */
function isConflictRetry({ code }: Fault, retryAt: Instant | null): boolean {
  return code === "STATE_CONFLICT" && retryAt !== null;
}

/** Returns the version that the attempt read, and the state change that it publishes. */
function stateFields(
  state: StateFact | null,
  what: "change" | "logged" | "nothing",
): { readonly base?: number; readonly state?: StateChange } {
  if (state === null) return {};
  const change = what === "nothing" ? null : state[what];
  return change === null ? { base: state.base } : { base: state.base, state: change };
}

function changeFields({ changes }: EndCommand): Pick<EndCommand, "changes"> {
  return changes === undefined ? {} : { changes };
}

function heartbeatFields({ heartbeat }: EndCommand): { readonly heartbeat?: Json } {
  return heartbeat === null ? {} : { heartbeat };
}

function cancelledEvent(run: Run, step: Step, command: EndCommand): Event {
  const { input: _input, ...head } = { input: null, ...endFields(run, step, command) };
  return { ...head, type: "step.cancelled" };
}

function doubtedEvent(run: Run, step: Step, act: Act, command: EndCommand, cause: Fault): DoubtedEvent {
  const { now, tool, ending } = command;
  const { input: _input, started_at: _started, ...head } = { input: null, ...endFields(run, step, command) };
  const why = outcomeUnknownFault(step, cause);
  const exits = doubtExits(step, tool, act.sent_at, now);
  return {
    ...head,
    type: "step.doubted",
    fault: why,
    ledger: nextLedgerVersion(act),
    exits,
    ...changeFields(command),
    ...heartbeatFields(command),
    ...(((ending.how === "unheard" && step.external === null) || hasOtherCalls(act, command)) && { alive: true }),
    ...doubtNotices(run, step, act, { fault: why, exits, at: now }),
  };
}

type DoubtedEvent = Extract<Event, { type: "step.doubted" }>;

/** True if the act was sent again, and the handler of an earlier call may still run. */
function hasOtherCalls({ sent }: Act, { grant }: EndCommand): boolean {
  return sent.some(({ attempt }) => attempt !== grant.attempt);
}

export function outcomeUnknownFault({ spec }: Step, cause: Fault): Fault {
  return fault("OUTCOME_UNKNOWN", `${spec.step_id} may or may not have happened: ${cause.message}`, {
    code: cause.code,
  });
}

/** How this doubt can be settled without a person, as the tool declares it now. */
export function doubtExits(step: Step, tool: ToolFacts | null, sentAt: Instant, lastAlive: Instant): DoubtExits {
  if (tool === null) return { verify: false, resend_until: null, quiet_at: lastAlive };
  const { idempotentForMs, settleAfterMs, verifies } = tool;
  // A call can be in transit this long, and a copy that arrives after the promise has ended is a second act.
  const inTransitMs = (step.spec.timeout_ms ?? tool.timeoutMs) + settleAfterMs;
  // Only its host could send an external call again.
  const promisedMs = step.external === null ? idempotentForMs : null;
  return {
    verify: verifies,
    resend_until: promisedMs === null ? null : ((sentAt + promisedMs - inTransitMs) as Instant),
    quiet_at: (lastAlive + inTransitMs) as Instant,
  };
}

/** An undo ends two steps: itself, and the one it undoes. */
export function withCompensation(run: Run, step: Step, events: readonly Event[], confirmed = false): readonly Event[] {
  if (step.cause?.by !== "undo") return events;
  const { of } = step.cause;
  const first = events[0] as Event;
  // A failed undo with an output happened all the same; only its state change was invalid.
  if (first.type === "step.failed" && first.output === undefined)
    return [...events, uncompensatedEvent(run, of, first.fault, first.at)];
  return [
    ...events,
    { type: "step.compensated", at: first.at, step_id: of, confirmed, ledger: undoneActVersion(run, of) },
  ];
}

/** Records that an undo failed. The act remains in effect. */
export function uncompensatedEvent(run: Run, of: StepId, why: Fault, at: Instant): Event {
  return { type: "step.uncompensated", at, step_id: of, fault: why, ledger: undoneActVersion(run, of) };
}

function undoneActVersion(run: Run, of: StepId): LedgerRowVersion {
  const { act } = getStep(run, { step_id: of });
  assert(act !== null, "an undo undoes an act");
  return nextLedgerVersion(act);
}

/** Returns the next version of the ledger row for an event that proves the act. It names the key of the act. */
export function receiptVersion({ call }: Step, act: Act): LedgerRowVersion {
  assert(call?.key != null, "an act has a key");
  return { ...nextLedgerVersion(act), key: call.key };
}

/** Returns the next version of the ledger row, or the same version if the row belongs to a later generation. */
export function nextLedgerVersion({ version, generation, superseded }: Act): LedgerRowVersion {
  return superseded ? { version, generation, superseded } : { version: version + 1, generation };
}
