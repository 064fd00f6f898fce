import { ANY_PERSON, combineDemands, isConfirmation } from "../approval/approval-demand.ts";
import { previewDrift } from "../approval/result-preview.ts";
import type { Basis } from "../approval/verdict-basis.ts";
import type { CallLimit } from "../call/counted-limits.ts";
import { type AskingVerdict, evaluateGuards, isAsking, type Policy, type Rules, type Verdict } from "../call/guard.ts";
import type { Proposal } from "../call/proposal.ts";
import { isStepConditionMet } from "../call/step-condition.ts";
import type { Event } from "../event/event.ts";
import type { Parking } from "../event/step-parking.ts";
import { conditionText } from "../plan/condition.ts";
import type { Condition } from "../plan/plan.ts";
import { stepKinds } from "../plan/step-kinds.ts";
import { hasLeftAgents } from "../run/branch-acts.ts";
import { deadlineFault } from "../run/deadline-fault.ts";
import { findStep, type Run } from "../run/run.ts";
import { isOverdue } from "../run/run-wakeups.ts";
import { isReversal, isStartable, isUndoStep, mayBeSkipped, type Step } from "../run/step.ts";
import { isNotifiedOnLift } from "../settings/halt.ts";
import type { Halt, LedgerRow } from "../store/tables.ts";
import { waitTimes } from "../time/wait-times.ts";
import { assert } from "../values/assert.ts";
import { type Effect, worseEffect } from "../values/effect.ts";
import { type Fault, fault } from "../values/fault.ts";
import type { Instant } from "../values/ids.ts";
import type { Json } from "../values/json.ts";
import { answerByNamedAct } from "./answer-by-named-act.ts";
import type { CommandOf, Grant } from "./command.ts";
import { findApproval, lastApprovedGate } from "./find-approval.ts";
import { type LedgerPermit, ledgerPermit } from "./ledger-permit.ts";
import { budgetFault, exceededBudget, exceededRate, type FullRate, rateFault, startCharges } from "./limit-charges.ts";
import { leaveInDoubt, openGate } from "./open-gate.ts";
import { NEEDS_IN_FLIGHT, NO_CHANGE, type PartialDecision } from "./partial-decision.ts";
import { CONFIRMATION_RULE, isMismatchAccepted, relianceOnActs } from "./reliance-on-acts.ts";
import { startFault } from "./start-fault.ts";
import { startedEvent } from "./started-event.ts";
import { supersedeEarlierActs } from "./supersede-earlier-acts.ts";
import {
  attemptFields,
  isWaitOver,
  parkForCaller,
  parkStep,
  startWait,
  succeededEvent,
  waitElapsedEvent,
} from "./wait-step.ts";

type StartCommand = CommandOf<"start">;
type ExecutePermit = Extract<LedgerPermit, { kind: "execute" }>;

const NONE: readonly never[] = [];

/**
 * Admits a step and acquires its right to execute: the guards judge the call, then the ledger decides about an act. The
 * checks make the append fail if the policy has changed since, and a start fail if a halt was set.
 */
export function startStep(run: Run, command: StartCommand, rules: Rules): PartialDecision {
  const policy = rules.policyFor(run);
  assert(command.policy === (policy?.version ?? null), "a start is decided by the policy that it names");
  const decision = judgeStart(run, command, rules, policy);
  if (decision.events.length === 0) return decision;
  const usesHalts = decision.grant !== undefined || parksForHalt(decision.events) || command.halts.closure !== null;
  const { policy_state } = command.proposal;
  const noPolicyChecks = decision.grant === undefined ? [] : command.unruled;
  const checks = [
    ...(policy?.checks ?? noPolicyChecks),
    ...(usesHalts ? command.halts.checks : []),
    ...(policy_state === null ? [] : [policy_state.check]),
  ];
  return checks.length === 0 ? decision : { ...decision, checks: [...(decision.checks ?? []), ...checks] };
}

function judgeStart(run: Run, command: StartCommand, rules: Rules, policy: Policy | null): PartialDecision {
  const { proposal, now } = command;
  const step = findStep(run, command.step_id);
  assert(step !== undefined, "only a step of the run is started");
  if (run.parked !== null) return NO_CHANGE;
  if (isOverdue(run, step, now)) return rejectStep(step, "deadline", deadlineFault(run, step), command);
  if (!isStartable(step, now)) return NO_CHANGE;
  const impossible = startFault(run, step);
  if (impossible !== null) return rejectStep(step, "order", impossible, command);
  if (step.spec.invalid !== null) return rejectStep(step, "plan", step.spec.invalid, command);
  if (isWaitOver(step)) return { events: [waitElapsedEvent(step, now)] };
  if (proposal.parked !== null) return parkStep(step, { for: "tool", fault: proposal.parked }, now);
  const effect = proposal.tool === null ? step.spec.effect : worseEffect(step.spec.effect, proposal.tool.effect);
  if (effect === "acts" && hasLeftAgents(run) && !isUndoStep(step)) return { events: [], need: "left_acts" };
  const judged = evaluateGuards(rules.guards, {
    run,
    step,
    proposal,
    effect,
    now,
    policy,
    closure: command.halts.closure,
    conditions: proposal.tool === null ? NONE : rules.conditionsOf(proposal.tool.name),
  });
  const verdict = isConfirmed(run, step, judged) ? asAllowed(judged) : judged;
  if (verdict.kind === "refuse") return rejectStep(step, verdict.rule, verdict.fault, command, verdict.basis);
  if (command.halts.halt !== null && isHaltable(step)) return parkForHalt(run, step, command.halts.halt, now);
  if (isAsking(verdict)) return askForData(run, step, command, verdict);
  return confirmReliedActs(run, step, command, verdict) ?? startKind(run, step, command, verdict, effect);
}

/** Opens a gate that asks for the values that the call lacks. The complete call is judged when it starts. */
function askForData(run: Run, step: Step, command: StartCommand, verdict: AskingVerdict): PartialDecision {
  const { call } = command.proposal;
  assert(call !== null, "a call that lacks values is proposed with its input");
  const { asks, rule, reason, demand, basis } = verdict;
  return openGate(run, step, call, command, { asks, rule, reason, demand, duplicate: null, ...(basis && { basis }) });
}

/** Confirms the acts that the step relies on. Null: these acts do not prevent the start. */
function confirmReliedActs(run: Run, step: Step, command: StartCommand, verdict: Verdict): PartialDecision | null {
  const { proposal, now } = command;
  const permit = relianceOnActs(run, step, command);
  switch (permit.kind) {
    case "rely":
      return null;
    case "look":
      return { events: [], need: "confirmation" };
    case "refuse":
      return rejectStep(step, CONFIRMATION_RULE, permit.fault, command);
    case "hold": {
      const { code, message } = permit.fault;
      const demand = verdict.kind === "hold" ? combineDemands(verdict.demand, ANY_PERSON) : ANY_PERSON;
      const reason = `${code}: ${message}; an approval continues without it`;
      const held = { rule: CONFIRMATION_RULE, reason, demand, ...(verdict.basis && { basis: verdict.basis }) };
      if (!stepKinds[step.spec.kind].callsTool) return unapprovable(step, command, { kind: "hold", ...held });
      if (proposal.call === null) return { events: [], need: "call" };
      if (isMismatchAccepted(run, step, proposal.call, now)) return null;
      // An approval that was given before the mismatch was found does not cover it.
      const stale = lastApprovedGate(run, step) === null ? {} : { stale: permit.fault };
      return openGate(run, step, proposal.call, command, { ...held, ...stale, duplicate: null });
    }
  }
}

/** Starts a step by its kind, after the guards and the halts allow it. */
function startKind(run: Run, step: Step, command: StartCommand, verdict: Verdict, effect: Effect): PartialDecision {
  const { kind } = step.spec;
  if (verdict.kind === "hold" && !stepKinds[kind].callsTool) return unapprovable(step, command, verdict);
  switch (kind) {
    case "operator":
      if (effect === "acts")
        return answerByNamedAct(run, step, command, verdict) ?? acquireLedgerRow(run, step, command, verdict);
      if (command.proposal.reusable !== null && isCallApproved(run, step, command, verdict))
        return reuseOutcome(step, command, verdict);
      return beginAttempt(run, step, command, verdict);
    case "verb":
    case "model":
    case "rollback":
      return beginAttempt(run, step, command, verdict);
    case "assertion":
      return evaluateAssertion(run, step, command);
    case "wait":
      return startWait(run, step, command);
    case "for_each":
      if (hasNoItems(command.proposal)) return { events: [succeededEvent(step, command.now, NO_ITEMS)] };
      return command.proposal.signal === null ? { events: [], need: "child" } : startWait(run, step, command);
    case "run":
      // The child run is started only after the guards and halts allow this step.
      return command.proposal.signal === null ? { events: [], need: "child" } : startWait(run, step, command);
  }
}

function hasNoItems({ input }: Proposal): boolean {
  return (input as { readonly items: readonly Json[] }).items.length === 0;
}

const NO_ITEMS: Json = { run_id: null, status: "completed", items: [], failed: [] };

/** A halt does not stop undos or steps that call nothing. */
function isHaltable(step: Step): boolean {
  return !isReversal(step) && stepKinds[step.spec.kind].haltable;
}

function parksForHalt(events: readonly Event[]): boolean {
  return events.some((event) => event.type === "step.parked" && event.on.for === "halt");
}

/** Parks the step. An act that would be sent again returns to its doubt, which a person can settle meanwhile. */
function parkForHalt(run: Run, step: Step, halt: Halt, now: Instant): PartialDecision {
  const { standing } = step;
  if (step.act?.doubt) return leaveInDoubt(step, `${halt.by} halted ${halt.over} before it was sent again`, now);
  const since = standing.state === "waiting" && standing.on.for === "halt" ? standing.on.since : now;
  const most = isNotifiedOnLift(halt, run) ? waitTimes.haltPollMaxMs : waitTimes.sharedHaltPollMaxMs;
  return parkStep(step, { for: "halt", halt, since, until: nextPollAt(since, now, most) }, now);
}

/** True if the caller confirmed the step in advance and the hold demands only a confirmation. */
function isConfirmed({ terms: { confirmed } }: Run, { spec }: Step, verdict: Verdict): boolean {
  if (verdict.kind !== "hold" || !isConfirmation(verdict.demand)) return false;
  return confirmed === true || (confirmed?.includes(spec.step_id) ?? false);
}

function asAllowed({ basis }: Verdict): Verdict {
  return { kind: "allow", ...(basis && { basis }) };
}

/** A step that calls no tool has no call to show to a person, so a rule cannot hold it. */
function unapprovable(
  step: Step,
  command: StartCommand,
  { rule, basis }: Extract<Verdict, { kind: "hold" }>,
): PartialDecision {
  const message = `${rule} holds ${step.spec.step_id}, which has no call to approve; hold a dependent step instead`;
  return rejectStep(step, rule, fault("POLICY_DENIED", message), command, basis);
}

function evaluateAssertion(run: Run, step: Step, { now, in_flight, proposal }: StartCommand): PartialDecision {
  const condition = step.spec.payload as unknown as Condition;
  if (isStepConditionMet(run, condition, proposal.policy_state)) return { events: [succeededEvent(step, now, true)] };
  if (in_flight === null) return NEEDS_IN_FLIGHT;
  const message = `${step.spec.step_id}: ${conditionText(condition, " is not")}`;
  const failed = fault("ASSERTION_FAILED", message);
  return {
    events: [
      {
        ...attemptFields(step, now),
        type: "step.failed",
        fault: failed,
        retry_at: null,
        world: "permanent_failure",
        sparing: in_flight,
        ...(mayBeSkipped(step) && { skips: true }),
      },
    ],
  };
}

function rejectStep(
  step: Step,
  rule: string,
  why: Fault,
  { now, in_flight }: StartCommand,
  basis?: Basis,
): PartialDecision {
  if (step.act?.doubt) return leaveInDoubt(step, why.message, now);
  if (in_flight === null) return NEEDS_IN_FLIGHT;
  const event = { at: now, step_id: step.spec.step_id, rule, fault: why, sparing: in_flight, ...(basis && { basis }) };
  return { events: [{ type: "step.rejected", ...event }] };
}

function reuseOutcome(step: Step, { proposal, now }: StartCommand, { basis }: Verdict): PartialDecision {
  const { reusable } = proposal;
  assert(reusable !== null, "there is an outcome to reuse");
  const event = {
    type: "step.succeeded",
    at: now,
    step_id: step.spec.step_id,
    attempt: step.attempts,
    started_at: now,
    ...(basis && { basis }),
  } as const;
  return { events: [{ ...event, output: reusable.output, world: "pure", reused: reusable.reused }] };
}

/** Decides about an act: by the ledger, then by a hold of the guards. The start is recorded before the call. */
function acquireLedgerRow(run: Run, step: Step, command: StartCommand, verdict: Verdict): PartialDecision {
  const { proposal, now } = command;
  const { call, tool, ledger } = proposal;
  assert(call?.key != null && tool !== null, "an act is proposed with its key");
  const permitted = ledgerPermit({ run, step, call, tool, now }, ledger);
  switch (permitted.kind) {
    case "look":
      return { events: [], need: "sighting" };
    case "refuse":
      return rejectStep(step, "ledger", permitted.fault, command);
    case "wait":
      return parkStep(step, waitForKey(step, permitted.row, now), now);
    case "hold":
      return openGate(run, step, call, command, {
        rule: "ledger",
        reason: permitted.reason,
        // One approval covers both the repeat and the hold of the guards.
        demand: verdict.kind === "hold" ? combineDemands(verdict.demand, ANY_PERSON) : ANY_PERSON,
        duplicate: permitted.duplicate,
        ...(verdict.basis && { basis: verdict.basis }),
      });
    case "reuse": {
      // The receipt of another act does not settle the doubt about this act.
      if (step.act?.doubt)
        return leaveInDoubt(step, "another run has acted meanwhile; whether this act happened is unknown", now);
      if (permitted.foreign && verdict.kind === "hold" && !isCallApproved(run, step, command, verdict))
        return openGate(run, step, call, command, { ...verdict, duplicate: null });
      const reused = {
        type: "step.succeeded",
        at: now,
        step_id: step.spec.step_id,
        attempt: step.attempts,
        started_at: now,
        ...(verdict.basis && { basis: verdict.basis }),
      } as const;
      const event = {
        ...reused,
        output: permitted.output,
        world: "side_effect_committed",
        reused: permitted.reused,
      } as const;
      const warned = permitted.warning === null ? event : { ...event, warning: permitted.warning };
      return {
        events: [warned],
        checks: [{ table: "ledger", key: call.key, was: permitted.version }],
      };
    }
    case "execute":
      return beginAttempt(run, step, command, verdict, permitted);
  }
}

/** Doubles the time between two checks, within limits, because each check is an event in the journal. */
function nextPollAt(since: Instant, now: Instant, most: number): Instant {
  return (now + Math.min(most, Math.max(waitTimes.stepPollMinMs, now - since))) as Instant;
}

function waitForKey({ standing }: Step, { run_id: owner, step_id: owner_step }: LedgerRow, now: Instant): Parking {
  const since = standing.state === "waiting" && standing.on.for === "key" ? standing.on.since : now;
  return { for: "key", since, until: nextPollAt(since, now, waitTimes.keyPollMaxMs), owner, owner_step };
}

/** Opens a gate if a guard holds the call, parks the step if a rate is exceeded, and else grants the attempt. */
function beginAttempt(
  run: Run,
  step: Step,
  command: StartCommand,
  verdict: Verdict,
  permitted: ExecutePermit | null = null,
): PartialDecision {
  const { proposal, now } = command;
  const ledger = permitted?.ledger ?? null;
  const limits = applicableLimits(step, proposal);
  const exceeded = isReversal(step) ? null : exceededBudget(limits);
  if (exceeded !== null)
    return rejectStep(step, exceeded.rule?.id ?? "budget", budgetFault(step, exceeded), command, verdict.basis);
  const grant: Grant = {
    step_id: step.spec.step_id,
    attempt: step.attempts + 1,
    started_at: now,
    generation: ledger?.generation ?? 0,
    recorded:
      ledger !== null ||
      verdict.kind === "hold" ||
      startCharges(limits, true).length > 0 ||
      proposal.captures.length > 0 ||
      proposal.external !== undefined,
    proposal,
    basis: verdict.basis ?? null,
  };
  if (!grant.recorded) return parkForCaller(step, proposal, now) ?? { events: [], grant };
  if (proposal.call === null) return { events: [], need: "call" };
  const gate = findApproval(run, step, proposal.call, verdict.kind === "hold" ? verdict.demand : null, now);
  if (verdict.kind === "hold" && gate === null) {
    // No gate opens for a call that exceeds a budget, so the budgets are read first.
    if (limits.some(({ of, tally, used }) => of === "budget" && tally !== null && used === null))
      return { events: [], need: "usage" };
    return openGate(run, step, proposal.call, command, { ...verdict, duplicate: permitted?.again ?? null });
  }
  const full = exceededRate(limits);
  const parked =
    full === null ? parkForCaller(step, proposal, now) : parkForRate(run, step, full, command, verdict.basis);
  if (parked !== null) return parked;
  if (proposal.captures === "wanted") return { events: [], need: "captures" };
  const drift = gate === null || step.act?.doubt ? null : previewDrift(gate, proposal);
  if (drift === "pins_needed") return { events: [], need: "pins" };
  if (gate !== null && drift !== null) {
    const demand = verdict.kind === "hold" ? combineDemands(verdict.demand, gate.demand) : gate.demand;
    const request = { rule: gate.rule, reason: gate.reason, demand, duplicate: permitted?.again ?? null, stale: drift };
    return openGate(run, step, proposal.call, command, request);
  }
  const started = startedEvent(run, step, command, verdict, { grant, gate, limits, ledger });
  const events = [...supersedeEarlierActs(run, step, proposal.call, grant), started];
  const check = proposal.pins?.check ?? null;
  return { events, grant, ...(check && { checks: [check] }) };
}

/** A call that is sent again uses its earlier reservation. No rate delays an undo. */
function applicableLimits(step: Step, { limits }: Proposal): readonly CallLimit[] {
  if (step.act?.doubt) return [];
  return isReversal(step) ? limits.filter(({ of }) => of === "budget") : limits;
}

/** Parks the step until the next window of the rate, or rejects it if the deadline is earlier. */
function parkForRate(run: Run, step: Step, full: FullRate, command: StartCommand, basis?: Basis): PartialDecision {
  const tooLate = rateFault(run, step, full);
  const { tally, window, rule } = full;
  if (tooLate !== null) return rejectStep(step, rule?.id ?? "rate", tooLate, command, basis);
  return parkStep(step, { for: "rate", tally, until: window.until, ...(rule && { rule: rule.id }) }, command.now);
}

/** True if the call may be made now. Only then may the step reuse a recorded result. */
function isCallApproved(run: Run, step: Step, { proposal, now }: StartCommand, verdict: Verdict): boolean {
  if (verdict.kind !== "hold") return true;
  return proposal.call !== null && findApproval(run, step, proposal.call, verdict.demand, now) !== null;
}
