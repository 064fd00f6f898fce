import { assert } from "../assert.ts";
import type { Ask, Grant } from "../command.ts";
import { holds } from "../condition.ts";
import { worst } from "../effect.ts";
import type { Call, Demand, Duplicate, Event, LedgerVersion, Parking } from "../event.ts";
import { fault } from "../fault.ts";
import { type Guard, judge, type Verdict } from "../guard.ts";
import type { Instant } from "../id.ts";
import type { Condition } from "../plan.ts";
import { NOTHING, type Ruling } from "../ruling.ts";
import { findStep, type Gate, type Run, type Step } from "../run.ts";
import { permit } from "./ledger.ts";

type Start = Ask<"start">;

/** Admit and acquire: may this step run now, and if it acts, whose turn is it? */
export function start(run: Run, command: Start, guards: readonly Guard[]): Ruling {
  const { proposal, now } = command;
  const step = findStep(run, command.step_id);
  assert(step !== undefined, "only a step of the run is started");
  if (!startable(step, now)) return NOTHING;
  if (proposal.parked !== null) return parked(step, { for: "tool", fault: proposal.parked }, now);
  if (step.spec.kind === "wait") return wait(step, now);
  const effect = proposal.tool === null ? step.spec.effect : worst(step.spec.effect, proposal.tool.effect);
  const verdict = judge(guards, { run, step, proposal, effect, now });
  if (verdict.kind === "refuse") return refused(step, verdict.rule, verdict.fault, command);
  if (step.spec.kind === "assertion") return assertion(run, step, command);
  if (effect === "acts") return acquire(run, step, command, verdict);
  if (proposal.reusable !== null && mayBeMade(run, step, command, verdict)) return reuse(step, command);
  return begin(run, step, command, verdict);
}

export function startable({ standing }: Step, now: Instant): boolean {
  switch (standing.state) {
    case "ready":
      return true;
    case "failed_retryable":
      return now >= standing.retry_at;
    case "waiting":
      return standing.on.for === "tool" || now >= standing.on.until;
    default:
      return false;
  }
}

function parked(step: Step, on: Parking, at: Instant): Ruling {
  const { standing } = step;
  const same = standing.state === "waiting" && standing.on.for === "tool" && on.for === "tool";
  return same ? NOTHING : { events: [{ type: "step.parked", at, step_id: step.spec.step_id, on }] };
}

function wait(step: Step, now: Instant): Ruling {
  const { ms, until } = step.spec.payload as { readonly ms?: number; readonly until?: Instant };
  if (step.standing.state === "waiting" || (until !== undefined && until <= now)) {
    return { events: [done(step, now, { waited_until: now })] };
  }
  return parked(step, { for: "time", until: until ?? ((now + (ms ?? 0)) as Instant) }, now);
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
  const standing = findStep(run, id)?.standing;
  return standing?.state === "succeeded" ? standing.output : undefined;
}

function done(step: Step, now: Instant, output: Extract<Event, { type: "step.succeeded" }>["output"]): Event {
  return { ...attempted(step, now), type: "step.succeeded", output, world: "pure" };
}

function attempted(step: Step, now: Instant) {
  return { at: now, step_id: step.spec.step_id, attempt: step.attempts + 1, started_at: now };
}

function refused(
  step: Step,
  rule: string,
  why: Extract<Verdict, { kind: "refuse" }>["fault"],
  { now, in_flight }: Start,
): Ruling {
  return {
    events: [{ type: "step.rejected", at: now, step_id: step.spec.step_id, rule, fault: why, sparing: in_flight }],
  };
}

function reuse(step: Step, { proposal, now }: Start): Ruling {
  const { reusable } = proposal;
  assert(reusable !== null, "there is an outcome to reuse");
  const event = {
    type: "step.succeeded",
    at: now,
    step_id: step.spec.step_id,
    attempt: step.attempts,
    started_at: now,
  } as const;
  return { events: [{ ...event, output: reusable.output, world: "pure", reused: reusable.reused }] };
}

/** An act: the ledger decides, then the guards' hold, then it is started on the record. */
function acquire(run: Run, step: Step, command: Start, verdict: Verdict): Ruling {
  const { proposal, now } = command;
  const { call, tool, ledger } = proposal;
  assert(call?.key != null && tool !== null, "an act is proposed with its key");
  const permitted = permit(run, step, call, tool, ledger);
  switch (permitted.kind) {
    case "look":
      return { events: [], need: "sighting" };
    case "refuse":
      return refused(step, "ledger", permitted.fault, command);
    case "wait": {
      const { run_id: owner, step_id: owner_step } = permitted.row;
      return parked(step, { for: "key", until: (now + KEY_POLL_MS) as Instant, owner, owner_step }, now);
    }
    case "hold":
      return hold(step, call, command, {
        rule: "ledger",
        reason: permitted.reason,
        demand: ANYONE,
        duplicate: permitted.duplicate,
      });
    case "reuse": {
      if (permitted.foreign && verdict.kind === "hold" && !mayBeMade(run, step, command, verdict))
        return hold(step, call, command, { ...verdict, duplicate: null });
      const reused = {
        type: "step.succeeded",
        at: now,
        step_id: step.spec.step_id,
        attempt: step.attempts,
        started_at: now,
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
        checks: ledger === null ? [] : [{ table: "ledger", key: call.key, was: ledger.version }],
      };
    }
    default:
      return begin(run, step, command, verdict, permitted.ledger);
  }
}

/** How soon a step that waits for another's act looks at the ledger again. */
const KEY_POLL_MS = 1000;
const ANYONE: Demand = { role: null };

/** Nobody refuses: hold for a person if someone asks for one, else hand out the right to execute. */
function begin(run: Run, step: Step, command: Start, verdict: Verdict, ledger: LedgerVersion | null = null): Ruling {
  const { proposal, now } = command;
  const grant: Grant = {
    step_id: step.spec.step_id,
    attempt: step.attempts + 1,
    started_at: now,
    generation: ledger?.generation ?? 0,
    recorded: ledger !== null || verdict.kind === "hold",
    proposal,
  };
  if (!grant.recorded) return { events: [], grant };
  if (proposal.call === null) return { events: [], need: "call" };
  const gate =
    verdict.kind === "hold" ? approval(run, step, proposal.call, verdict.demand, now) : freshApproval(run, step);
  if (verdict.kind === "hold" && gate === null)
    return hold(step, proposal.call, command, { ...verdict, duplicate: null });
  const { step_id, attempt } = grant;
  const consumed =
    gate === null || gate.status === "consumed" ? null : { gate_id: gate.gate_id, version: gate.version + 1 };
  return {
    events: [
      {
        type: "step.started",
        at: now,
        step_id,
        attempt,
        call: proposal.call,
        ledger,
        gate: consumed,
        boot: proposal.boot,
      },
    ],
    grant,
  };
}

/** A recorded result is handed only to someone who may make the call now. */
function mayBeMade(run: Run, step: Step, { proposal, now }: Start, verdict: Verdict): boolean {
  if (verdict.kind !== "hold") return true;
  return proposal.call !== null && approval(run, step, proposal.call, verdict.demand, now) !== null;
}

/** A person's yes to exactly this call, still good, at least as strict as what is asked now. */
function approval(run: Run, step: Step, call: Call, demand: Demand, now: Instant): Gate | null {
  const gate = step.gate === null ? undefined : run.gates.get(step.gate);
  if (gate === undefined || (gate.status !== "approved" && gate.status !== "consumed")) return null;
  if (gate.call.digest !== call.digest || gate.use_by === null || now > gate.use_by) return null;
  return demand.role === null || demand.role === gate.demand.role ? gate : null;
}

/** An approval nobody asks for any more is consumed all the same: it authorised this call and no other. */
function freshApproval(run: Run, step: Step): Gate | null {
  const gate = step.gate === null ? undefined : run.gates.get(step.gate);
  return gate?.status === "approved" ? gate : null;
}

interface Held {
  readonly rule: string;
  readonly reason: string;
  readonly demand: Demand;
  readonly duplicate: Duplicate | null;
}

function hold(step: Step, call: Call, { proposal, now }: Start, { rule, reason, demand, duplicate }: Held): Ruling {
  const { gate_id, gate_ms } = proposal;
  const expires_at = (now + gate_ms) as Instant;
  const event = {
    type: "gate.opened",
    at: now,
    gate_id,
    step_id: step.spec.step_id,
    call,
    rule,
    reason,
    demand,
    expires_at,
  } as const;
  return { events: [{ ...event, duplicate_of: duplicate }] };
}
