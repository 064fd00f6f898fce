import { assert } from "../assert.ts";
import type { Basis } from "../basis.ts";
import type { Ask, Grant } from "../command.ts";
import { ANYONE, bothOf, isConfirmation } from "../demand.ts";
import { worst } from "../effect.ts";
import type { Call, Event } from "../event.ts";
import { type Fault, fault } from "../fault.ts";
import { type Guard, judge, type Verdict } from "../guard.ts";
import { isTold } from "../halt.ts";
import type { Instant } from "../id.ts";
import type { Reserved } from "../limits/charged.ts";
import type { Toll } from "../limits/toll.ts";
import type { Parking } from "../parking.ts";
import { holds } from "../plan/condition.ts";
import type { Condition } from "../plan/plan.ts";
import { driftFrom } from "../preview.ts";
import type { Proposal } from "../proposal.ts";
import type { Halt, LedgerRow } from "../rows.ts";
import { NOTHING, type Ruling } from "../ruling.ts";
import { findStep, type Run, stepOf } from "../run.ts";
import { isUndo, type Step, startable } from "../step.ts";
import { reliedOn } from "../trust.ts";
import { approval } from "./approval.ts";
import { ask, hold } from "./hold.ts";
import { type Permit, permit } from "./ledger.ts";
import { type Full, neverInTime, overspent, reservations, tooDear, tooOften } from "./toll.ts";
import { attempted, done, isOver, parked, wait, waited } from "./wait.ts";

type Start = Ask<"start">;
type Execute = Extract<Permit, { kind: "execute" }>;

/** Admit and acquire: may this step run now, and if it acts, whose turn is it? What is put on record holds only under the policy it was judged by, and what begins only while nobody halts it. */
export function start(run: Run, command: Start, guards: readonly Guard[]): Ruling {
  const ruling = admitted(run, command, guards);
  if (ruling.events.length === 0) return ruling;
  const standsOnHalts = ruling.grant !== undefined || isHalted(ruling.events) || command.halts.closure !== null;
  const { seen } = command.proposal;
  const unruled = ruling.grant === undefined ? [] : command.unruled;
  const read = [
    ...(command.policy?.checks ?? unruled),
    ...(standsOnHalts ? command.halts.checks : []),
    ...(seen === null ? [] : [seen.check]),
  ];
  return read.length === 0 ? ruling : { ...ruling, checks: [...(ruling.checks ?? []), ...read] };
}

function admitted(run: Run, command: Start, guards: readonly Guard[]): Ruling {
  const { proposal, now } = command;
  const step = findStep(run, command.step_id);
  assert(step !== undefined, "only a step of the run is started");
  if (run.poison !== null || !startable(step, now)) return NOTHING;
  const over = tooLate(run, step);
  if (over !== null) return refused(step, "order", over, command);
  if (isOver(step)) return { events: [waited(step, now)] };
  if (proposal.parked !== null) return parked(step, { for: "tool", fault: proposal.parked }, now);
  const effect = proposal.tool === null ? step.spec.effect : worst(step.spec.effect, proposal.tool.effect);
  const judged = judge(guards, {
    run,
    step,
    proposal,
    effect,
    now,
    policy: command.policy,
    closure: command.halts.closure,
  });
  const verdict = isMeant(run, step, judged) ? allowing(judged) : judged;
  if (verdict.kind === "refuse") return refused(step, verdict.rule, verdict.fault, command, verdict.basis);
  if (command.halts.halt !== null && isHaltable(step)) return halted(run, step, command.halts.halt, now);
  if (step.spec.kind !== "operator") return check(run, step, command, verdict);
  if (effect === "acts") return acquire(run, step, command, verdict);
  if (proposal.reusable !== null && mayBeMade(run, step, command, verdict)) return reuse(step, command, verdict);
  return begin(run, step, command, verdict);
}

/** Undoing goes on, and so does what calls nothing. */
function isHaltable(step: Step): boolean {
  return !isUndo(step) && (step.spec.kind === "operator" || step.spec.kind === "run");
}

function isHalted(events: readonly Event[]): boolean {
  return events.some((event) => event.type === "step.parked" && event.on.for === "halt");
}

/** It waits until it may go on. What would only be sent again is not left waiting: a person can find out meanwhile. */
function halted(run: Run, step: Step, halt: Halt, now: Instant): Ruling {
  const { standing } = step;
  if (step.act?.doubt) return ask(step, `${halt.by} halted ${halt.over} before it was sent again`, now);
  const since = standing.state === "waiting" && standing.on.for === "halt" ? standing.on.since : now;
  const most = isTold(halt, run) ? TOLD_MOST_MS : UNTOLD_MOST_MS;
  return parked(step, { for: "halt", halt, since, until: lookAgain(since, now, most) }, now);
}

/** Whoever asked has said that it is meant. That is as much as a confirmation asks for, and never an approval. */
function isMeant({ confirmed }: Run, { spec }: Step, verdict: Verdict): boolean {
  if (verdict.kind !== "hold" || !isConfirmation(verdict.demand)) return false;
  return confirmed === true || (confirmed?.includes(spec.step_id) ?? false);
}

function allowing({ basis }: Verdict): Verdict {
  return { kind: "allow", ...(basis && { basis }) };
}

/** The plan was ended while this step was on its way here, or what it stands on was undone. */
function tooLate(run: Run, step: Step): Fault | null {
  if (isUndo(step)) return null;
  if (run.stopped !== null) return fault("ABORTED", `${run.stopped} ended the plan before ${step.spec.step_id} began`);
  const gone = step.cause === null && step.spec.depends_on.find((id) => outputOf(run, id) === undefined);
  return gone ? fault("DEPENDENCY_FAILED", `${step.spec.step_id} needs ${gone}, which no longer stands`) : null;
}

/** A step that calls nothing. There is no call to show to a person, so nobody can be asked about it. */
function check(run: Run, step: Step, command: Start, verdict: Verdict): Ruling {
  if (verdict.kind === "hold") {
    const message = `${verdict.rule} holds ${step.spec.step_id}, which has no call to approve; hold a step behind it instead`;
    return refused(step, verdict.rule, fault("POLICY_DENIED", message), command, verdict.basis);
  }
  if (step.spec.kind === "assertion") return assertion(run, step, command);
  // Nobody asks for another run before it is sure that this step may.
  return step.spec.kind === "run" && command.proposal.signal === null
    ? { events: [], need: "child" }
    : wait(run, step, command);
}

function assertion(run: Run, step: Step, { now, in_flight }: Start): Ruling {
  const claim = step.spec.payload as unknown as Condition;
  if (holds(claim, (id) => outputOf(run, id))) return { events: [done(step, now, true)] };
  const message = `${step.spec.step_id}: ${claim.step}${claim.path} is not ${claim.operator} ${JSON.stringify(claim.value)}`;
  const failed = fault("ASSERTION_FAILED", message);
  return {
    events: [
      {
        ...attempted(step, now),
        type: "step.failed",
        fault: failed,
        retry_at: null,
        world: "permanent_failure",
        sparing: in_flight,
      },
    ],
  };
}

function outputOf(run: Run, id: Condition["step"]) {
  const { standing } = stepOf(run, { step_id: id });
  return standing.state === "succeeded" ? standing.output : undefined;
}

function refused(step: Step, rule: string, why: Fault, { now, in_flight }: Start, basis?: Basis): Ruling {
  if (step.act?.doubt) return ask(step, why.message, now);
  const event = { at: now, step_id: step.spec.step_id, rule, fault: why, sparing: in_flight, ...(basis && { basis }) };
  return { events: [{ type: "step.rejected", ...event }] };
}

function reuse(step: Step, { proposal, now }: Start, { basis }: Verdict): Ruling {
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

/** An act: the ledger decides, then the guards' hold, then it is started on the record. */
function acquire(run: Run, step: Step, command: Start, verdict: Verdict): Ruling {
  const { proposal, now } = command;
  const { call, tool, ledger } = proposal;
  assert(call?.key != null && tool !== null, "an act is proposed with its key");
  const permitted = permit({ run, step, call, tool, now }, ledger);
  switch (permitted.kind) {
    case "look":
      return { events: [], need: "sighting" };
    case "refuse":
      return refused(step, "ledger", permitted.fault, command);
    case "wait":
      return parked(step, behind(step, permitted.row, now), now);
    case "hold":
      return hold(run, step, call, command, {
        rule: "ledger",
        reason: permitted.reason,
        // One yes must do for both: that it is done again, and that it is done at all.
        demand: verdict.kind === "hold" ? bothOf(verdict.demand, ANYONE) : ANYONE,
        duplicate: permitted.duplicate,
        ...(verdict.basis && { basis: verdict.basis }),
      });
    case "reuse": {
      // A receipt of another act does not tell what became of this one.
      if (step.act?.doubt) return ask(step, "another run has done it meanwhile; whether this one did is unknown", now);
      if (permitted.foreign && verdict.kind === "hold" && !mayBeMade(run, step, command, verdict))
        return hold(run, step, call, command, { ...verdict, duplicate: null });
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
      return begin(run, step, command, verdict, permitted);
  }
}

/** How soon a step looks again whether what it waits for has come: as long again as it has waited, within bounds. */
const POLL_MS = { least: 1000, most: 60_000 } as const;

/** Each look is a fact of the journal. Who is told when a halt is lifted looks only in case that nobody lived to tell it. */
const TOLD_MOST_MS = 3_600_000;
const UNTOLD_MOST_MS = 300_000;

function lookAgain(since: Instant, now: Instant, most: number = POLL_MS.most): Instant {
  return (now + Math.min(most, Math.max(POLL_MS.least, now - since))) as Instant;
}

function behind({ standing }: Step, { run_id: owner, step_id: owner_step }: LedgerRow, now: Instant): Parking {
  const since = standing.state === "waiting" && standing.on.for === "key" ? standing.on.since : now;
  return { for: "key", since, until: lookAgain(since, now), owner, owner_step };
}

/** Nobody refuses: hold for a person if someone asks for one, else hand out the right to execute. */
function begin(run: Run, step: Step, command: Start, verdict: Verdict, permitted: Execute | null = null): Ruling {
  const { proposal, now } = command;
  const ledger = permitted?.ledger ?? null;
  const tolls = tollsOn(step, proposal);
  const short = isUndo(step) ? null : overspent(tolls);
  if (short !== null) return refused(step, short.rule?.id ?? "budget", tooDear(step, short), command, verdict.basis);
  const grant: Grant = {
    step_id: step.spec.step_id,
    attempt: step.attempts + 1,
    started_at: now,
    generation: ledger?.generation ?? 0,
    recorded:
      ledger !== null ||
      verdict.kind === "hold" ||
      reservations(tolls, true).length > 0 ||
      proposal.captures.length > 0,
    proposal,
    basis: verdict.basis ?? null,
  };
  if (!grant.recorded) return { events: [], grant };
  if (proposal.call === null) return { events: [], need: "call" };
  const gate = approval(run, step, proposal.call, verdict.kind === "hold" ? verdict.demand : null, now);
  if (verdict.kind === "hold" && gate === null) {
    // Nobody is asked about a call that could not be paid for.
    if (tolls.some(({ of, tally, used }) => of === "budget" && tally !== null && used === null))
      return { events: [], need: "usage" };
    return hold(run, step, proposal.call, command, { ...verdict, duplicate: permitted?.again ?? null });
  }
  const full = tooOften(tolls);
  if (full !== null) return queued(run, step, full, command, verdict.basis);
  if (proposal.captures === "wanted") return { events: [], need: "captures" };
  const drift = gate === null || step.act?.doubt ? null : driftFrom(gate, proposal);
  if (drift === "unseen") return { events: [], need: "pins" };
  if (gate !== null && drift !== null) {
    const demand = verdict.kind === "hold" ? bothOf(verdict.demand, gate.demand) : gate.demand;
    const asked = { rule: gate.rule, reason: gate.reason, demand, duplicate: permitted?.again ?? null, stale: drift };
    return hold(run, step, proposal.call, command, asked);
  }
  const { step_id, attempt } = grant;
  const consumed =
    gate === null || gate.status === "consumed" ? null : { gate_id: gate.gate_id, version: gate.version + 1 };
  const { call, boot } = proposal;
  const charges = [...reservations(tolls, !isUndo(step)), ...trustedBy(step, proposal, verdict)];
  const said = verdict.basis && { basis: verdict.basis };
  const begun = { at: now, step_id, attempt, call, ledger, gate: consumed, boot, ...said };
  const started = { type: "step.started", ...begun } as const;
  const { captures } = proposal;
  const more = { ...(charges.length > 0 && { charges }), ...(captures.length > 0 && { captures }) };
  const events = [...overtaken(run, step, call, grant), { ...started, ...more }];
  const read = proposal.pins?.check ?? null;
  return read === null ? { events, grant } : { events, grant, checks: [read] };
}

/** Nobody was asked: perhaps because of what was earned, which someone may be taking away at this moment. */
function trustedBy(step: Step, { record }: Proposal, verdict: Verdict): readonly Reserved[] {
  return record === null || verdict.kind === "hold" || isUndo(step) ? [] : [reliedOn(record)];
}

/** A call that is sent again stands on what was reserved for it, and undoing something is put off by no rate. */
function tollsOn(step: Step, { tolls }: Proposal): readonly Toll[] {
  if (step.act?.doubt) return [];
  return isUndo(step) ? tolls.filter(({ of }) => of === "budget") : tolls;
}

/** It has been called as often as it may be: its turn comes with the next window, if the run has so much time. */
function queued(run: Run, step: Step, full: Full, command: Start, basis?: Basis): Ruling {
  const late = neverInTime(run, step, full);
  const { tally, window, rule } = full;
  if (late !== null) return refused(step, rule?.id ?? "rate", late, command, basis);
  return parked(step, { for: "rate", tally, until: window.until, ...(rule && { rule: rule.id }) }, command.now);
}

/** What this run did earlier under the same key has lost the row: two of its steps must not both write it. */
function overtaken(run: Run, { spec }: Step, { key }: Call, { generation, started_at: at }: Grant): readonly Event[] {
  if (generation < 2) return [];
  const by = { run: run.id, step: spec.step_id, generation };
  return [...run.steps]
    .filter(({ act, call }) => call?.key === key && act !== null && !act.superseded && act.generation < generation)
    .map(({ spec: { step_id } }) => ({ type: "step.superseded", at, step_id, by }));
}

/** A recorded result is handed only to someone who may make the call now. */
function mayBeMade(run: Run, step: Step, { proposal, now }: Start, verdict: Verdict): boolean {
  if (verdict.kind !== "hold") return true;
  return proposal.call !== null && approval(run, step, proposal.call, verdict.demand, now) !== null;
}
