import { assert } from "../assert.ts";
import type { Ask, Grant, StateFact } from "../command.ts";
import { type Effect, type World, worst } from "../effect.ts";
import type { Event, Exits, LedgerVersion } from "../event.ts";
import { type Fault, fault } from "../fault.ts";
import type { Instant, StepId } from "../id.ts";
import type { Json } from "../json/json.ts";
import type { Charged } from "../limits/charged.ts";
import { chargesFor } from "../limits/tally.ts";
import { lean } from "../plan/plan.ts";
import { surprise } from "../preview.ts";
import type { ToolFacts } from "../proposal.ts";
import { provenanceOf } from "../provenance.ts";
import { NOTHING, type Ruling } from "../ruling.ts";
import { findStep, type Run, stepOf } from "../run.ts";
import type { StateChange } from "../state/state-change.ts";
import { type Act, isUndo, type Step, startable } from "../step.ts";
import { approvedGate } from "./approval.ts";
import { retryAt } from "./retry.ts";
import { type Bill, settlement } from "./toll.ts";

type End = Ask<"end">;

/** Commit: what a handler's end means for the step, the world and the ledger. DESIGN 5, column by column. */
export function end(run: Run, command: End): Ruling {
  const { grant } = command;
  const step = findStep(run, grant.step_id);
  assert(step !== undefined, "only a step of the run ends");
  if (!isCurrent(step, command)) return late(run, step, command);
  const effect = worst(step.spec.effect, command.tool.effect);
  return effect === "acts" ? endAct(run, step, command) : endOther(run, step, command, effect);
}

/** The attempt is the one the run knows of, and nothing has overtaken it. */
function isCurrent(step: Step, { grant }: End): boolean {
  const { standing } = step;
  if (grant.recorded) return standing.state === "running" && standing.attempt === grant.attempt;
  return startable(step, grant.started_at) && step.attempts + 1 === grant.attempt;
}

/** A value after a timeout is adopted while nobody knows better; anything else is kept as evidence, or dropped with the call. */
function late(run: Run, step: Step, command: End): Ruling {
  const { ending, grant, now } = command;
  const act = step.standing.state === "in_doubt" && step.act?.attempt === grant.attempt ? step.act : null;
  if (act !== null && ending.how === "value") return endAct(run, step, command);
  if (act !== null && ending.how === "unheard") {
    const { alive: _alive, ...left } = doubted(run, step, act, command, ending.fault);
    return { events: [left] };
  }
  if (grant.recorded && ending.how === "value") {
    return {
      events: [
        { type: "evidence.kept", at: now, step_id: grant.step_id, attempt: grant.attempt, evidence: ending.output },
      ],
    };
  }
  return isWithdrawn(step, command) && command.cost !== null ? { events: [cancelled(run, step, command)] } : NOTHING;
}

/** The step was taken out of the run while this attempt, of which nothing is on record, was under way. */
function isWithdrawn({ standing, attempts }: Step, { grant }: End): boolean {
  if (standing.state !== "cancelled" && standing.state !== "skipped") return false;
  return !grant.recorded && grant.attempt === attempts + 1;
}

function endAct(run: Run, step: Step, command: End): Ruling {
  const { ending } = command;
  const { act } = step;
  assert(act !== null, "an act that ends was started on the record");
  const ledger = versionAfter(act);
  if (ending.how === "value") {
    // Nobody builds on what an undo answers.
    const flaw = (isUndo(step) ? null : ending.flaw) ?? afterAct(step, command.state);
    return flaw === null
      ? { events: succeeded(run, step, command, "side_effect_committed", ledger) }
      : { events: withUndo(run, step, [unusable(run, step, command, flaw, ledger)], command.confirmed) };
  }
  // Of a call that was sent again, "not done" is said about the second time only.
  if (provesNothingDone(command) && act.doubt === null) return failed(run, step, command, ending.fault, ledger);
  return { events: [doubted(run, step, act, command, ending.fault)] };
}

/** It happened; that state does not take what it says of it changes nothing about that. */
function afterAct({ spec }: Step, state: StateFact | null): Fault | null {
  if (state === null || state.flaw === null) return null;
  const { code, message } = state.flaw;
  const told = `${spec.step_id} was done, but state does not take what it dispatched: ${message}`;
  return fault("STATE_AFTER_ACT", told, { code });
}

function provesNothingDone({ ending, tool }: End): boolean {
  return ending.how === "not_done" || (ending.how === "error" && tool.errorsMean === "not_done");
}

function endOther(run: Run, step: Step, command: End, effect: Effect): Ruling {
  const { ending, state } = command;
  if (run.cancel !== null && ending.how !== "value") return { events: [cancelled(run, step, command)] };
  if (ending.how !== "value") return failed(run, step, command, ending.fault);
  const flaw = ending.flaw ?? state?.flaw ?? null;
  if (flaw !== null) return failed(run, step, command, flaw);
  if (state !== null && state.quarrel !== null) return failed(run, step, command, overtaken(step, state.quarrel));
  const gate = command.grant.recorded ? approvedGate(run, step) : null;
  const other = gate && surprise(gate, ending.output, state?.written ?? null);
  if (other !== null) return failed(run, step, command, other);
  return { events: succeeded(run, step, command, effect === "writes" ? "state_changed" : "pure") };
}

function overtaken({ spec }: Step, where: string): Fault {
  return fault(
    "STATE_CONFLICT",
    `${where} was changed by others while ${spec.step_id} worked with it; it is run again`,
  );
}

/** Its input is not the payload of the plan, and no event has told it yet. */
function isDerived({ proposal, recorded }: Grant): boolean {
  return proposal.derived && !recorded;
}

/** The head that every ending shares: who, when, at what cost. */
function ended(run: Run, step: Step, command: End) {
  const { grant, now } = command;
  const { step_id, attempt, started_at, proposal } = grant;
  const head = { at: now, step_id, attempt, started_at, ...(!grant.recorded && grant.basis && { basis: grant.basis }) };
  const derived = isDerived(grant) ? { input: proposal.input, ...head } : head;
  const spent = spending(run, step, command);
  return spent === null ? derived : { ...spent, ...derived };
}

/** Null: it cost nothing that anybody counts. */
function spending(run: Run, step: Step, command: End): Spending | null {
  const { cost, now, grant } = command;
  const { tolls } = grant.proposal;
  const settled = [
    ...(tolls.length === 0 && step.reserved.length === 0 ? NONE : settlement(step, tolls, billOf(step, command))),
    ...earnedBy(run, step, command),
  ];
  if (cost !== null) return { cost, charges: [...chargesFor(run, cost, now), ...settled] };
  return settled.length === 0 ? null : { charges: settled };
}

/** Someone else than who asked had approved it, and it ended well. */
function earnedBy(run: Run, step: Step, { grant, ending, state }: End): readonly Charged[] {
  const { record } = grant.proposal;
  if (record === null || isUndo(step) || ending.how !== "value" || ending.flaw !== null || state?.flaw) return NONE;
  const isApproved = approvedGate(run, step)?.votes.some(({ by }) => by !== run.principal.id) === true;
  return isApproved ? [{ tally: record.tally, amount: 1 }] : NONE;
}

type Spending = Pick<Succeeded, "cost" | "charges">;

const NONE: readonly never[] = [];

function billOf({ act }: Step, command: End): Bill {
  const { cost, now, grant, ending } = command;
  const ms = Math.max(0, now - grant.started_at);
  if (ending.how === "value") return { cost, ms, for: "all" };
  // Said of a call that was sent again, it says nothing of the first time.
  if (provesNothingDone(command) && !act?.doubt) return { cost, ms, for: "nothing" };
  return { cost, ms, for: ending.how === "error" && act === null ? "all" : "unknown" };
}

function succeeded(run: Run, step: Step, command: End, world: World, ledger?: LedgerVersion): readonly Event[] {
  const { ending, errands, now, notices, reuse, grant, state } = command;
  assert(ending.how === "value", "only a value succeeds");
  const { step_id, attempt, started_at, proposal } = grant;
  // What nearly every step has, and then what few have: laid over each other, nobody could tell what the object will look like.
  const event: Draft = { type: "step.succeeded", output: ending.output, world, at: now, step_id, attempt, started_at };
  if (isDerived(grant)) event.input = proposal.input;
  if (grant.basis !== null && !grant.recorded) event.basis = grant.basis;
  Object.assign(event, spending(run, step, command));
  if (ledger !== undefined) event.ledger = ledger;
  if (notices.length > 0) event.notices = notices;
  const made = provenanceOf(run.id, step, proposal.call?.digest ?? null, reuse?.key ?? null);
  if (made !== null) event.outcome = made;
  if (state !== null) Object.assign(event, left(state, "change"));
  if (command.closings !== undefined) event.closings = command.closings;
  if (errands.length === 0 && step.cause?.by !== "undo") return [event];
  const more = errands
    .filter(({ step: errand }) => !run.index.has(errand.step_id))
    .map(
      ({ step: errand, pin, cause }): Event => ({
        type: "step.proposed",
        at: now,
        step_id: errand.step_id,
        step: lean(errand),
        pin,
        cause,
      }),
    );
  return withUndo(run, step, [event, ...more], command.confirmed);
}

type Draft = { -readonly [Field in keyof Succeeded]: Succeeded[Field] };
type Succeeded = Extract<Event, { type: "step.succeeded" }>;

/** It happened, but what it answered is not what it promised: on record, never retried, nobody may build on it. */
function unusable(run: Run, step: Step, command: End, flaw: Fault, ledger: LedgerVersion): Event {
  const { ending } = command;
  assert(ending.how === "value", "only a value can be of no use");
  const { output } = ending;
  const why = { fault: flaw, retry_at: null, world: "compensatable_failure", sparing: command.in_flight } as const;
  return {
    ...ended(run, step, command),
    type: "step.failed",
    ...why,
    output,
    ledger,
    ...left(command.state, "logged"),
  };
}

function failed(run: Run, step: Step, command: End, why: Fault, ledger?: LedgerVersion): Ruling {
  const { grant, tool, now, dice, in_flight } = command;
  const retry_at = retryAt(run, step, tool, why, { attempt: grant.attempt, now, dice });
  const event: Event = {
    ...ended(run, step, command),
    type: "step.failed",
    fault: why,
    retry_at,
    world: retry_at === null ? "permanent_failure" : "retryable_failure",
    ...said(command),
    ...left(command.state, isDenied(why, retry_at) ? "nothing" : "logged"),
    ...(ledger && { ledger }),
    ...(retry_at === null && { sparing: in_flight }),
  };
  return { events: retry_at === null ? withUndo(run, step, [event]) : [event] };
}

/** What is run again because others came first was no call: nobody is told what it said on the way. */
function isDenied({ code }: Fault, retryAt: Instant | null): boolean {
  return code === "STATE_CONFLICT" && retryAt !== null;
}

/** What the call leaves in its project's state, and what it had worked on. */
function left(
  state: StateFact | null,
  what: "change" | "logged" | "nothing",
): { readonly base?: number; readonly state?: StateChange } {
  if (state === null) return {};
  const change = what === "nothing" ? null : state[what];
  return change === null ? { base: state.base } : { base: state.base, state: change };
}

/** For whoever tries next. */
function said({ heartbeat }: End): { readonly heartbeat?: Json } {
  return heartbeat === null ? {} : { heartbeat };
}

function cancelled(run: Run, step: Step, command: End): Event {
  const { input: _input, ...head } = { input: null, ...ended(run, step, command) };
  return { ...head, type: "step.cancelled" };
}

function doubted(run: Run, step: Step, act: Act, command: End, cause: Fault): Doubted {
  const { now, tool, ending } = command;
  const { input: _input, started_at: _started, ...head } = { input: null, ...ended(run, step, command) };
  return {
    ...head,
    type: "step.doubted",
    fault: unknown(step, cause),
    ledger: versionAfter(act),
    exits: exitsOf(step, tool, act.sent_at, now),
    ...said(command),
    ...(ending.how === "unheard" && { alive: true }),
  };
}

type Doubted = Extract<Event, { type: "step.doubted" }>;

export function unknown({ spec }: Step, cause: Fault): Fault {
  return fault("OUTCOME_UNKNOWN", `${spec.step_id} may or may not have happened: ${cause.message}`, {
    code: cause.code,
  });
}

/** How this doubt can be settled without a person, as the tool declares it now. */
export function exitsOf({ spec }: Step, tool: ToolFacts | null, sentAt: Instant, lastAlive: Instant): Exits {
  if (tool === null) return { verify: false, resend_until: null, quiet_at: lastAlive };
  const { idempotentForMs, settleAfterMs, verifies } = tool;
  // A call can be this long on its way, and a copy that arrives after the promise has run out is a second act.
  const underWayMs = (spec.timeout_ms ?? tool.timeoutMs) + settleAfterMs;
  return {
    verify: verifies,
    resend_until: idempotentForMs === null ? null : ((sentAt + idempotentForMs - underWayMs) as Instant),
    quiet_at: (lastAlive + underWayMs) as Instant,
  };
}

/** An undo ends two steps: itself, and the one it undoes. */
export function withUndo(run: Run, step: Step, events: readonly Event[], confirmed = false): readonly Event[] {
  if (step.cause?.by !== "undo") return events;
  const { of } = step.cause;
  const first = events[0] as Event;
  // With an output it was done all the same, though state does not take what it said of it.
  if (first.type === "step.failed" && first.output === undefined)
    return [...events, uncompensated(run, of, first.fault, first.at)];
  return [...events, { type: "step.compensated", at: first.at, step_id: of, confirmed, ledger: nextVersion(run, of) }];
}

/** The undo did not go through: the act stands. */
export function uncompensated(run: Run, of: StepId, why: Fault, at: Instant): Event {
  return { type: "step.uncompensated", at, step_id: of, fault: why, ledger: nextVersion(run, of) };
}

function nextVersion(run: Run, of: StepId): LedgerVersion {
  const { act } = stepOf(run, { step_id: of });
  assert(act !== null, "an undo undoes an act");
  return versionAfter(act);
}

/** The next version of an act's row, unless the row speaks of another act by now. */
export function versionAfter({ version, generation, superseded }: Act): LedgerVersion {
  return superseded ? { version, generation, superseded } : { version: version + 1, generation };
}
