import { assert } from "../assert.ts";
import type { Basis } from "../basis.ts";
import type { Ask } from "../command.ts";
import { type Demand, mayVote, type Vote } from "../demand.ts";
import { worst } from "../effect.ts";
import type { Call, Duplicate, Event } from "../event.ts";
import type { Fault } from "../fault.ts";
import type { Instant } from "../id.ts";
import type { Proposal } from "../proposal.ts";
import type { Ruling } from "../ruling.ts";
import { type Run, requesterOf } from "../run.ts";
import { isUndo, type Step } from "../step.ts";
import { approval, approvedGate } from "./approval.ts";

/** What holds a call. */
interface Held {
  readonly rule: string;
  readonly reason: string;
  readonly demand: Demand;
  readonly duplicate: Duplicate | null;
  readonly basis?: Basis;
  /** Why a yes that was given is none any more. */
  readonly stale?: Fault;
}

/** Holds a call for whoever is asked for, with what can be told of it before. */
export function hold(run: Run, step: Step, call: Call, { proposal, now }: Ask<"start">, held: Held): Ruling {
  const { rule, reason, demand, duplicate, basis, stale = stalenessOf(step) } = held;
  if (step.act?.doubt) return ask(step, reason, now);
  const { gate_id, gate_ms, estimate, preview } = proposal;
  if (preview === "wanted") return { events: [], need: "preview" };
  assert(gate_id !== null, "a call is proposed with the id of its gate");
  const votes = stale === undefined ? votesFor(run, step, call, held, now) : [];
  const reversible = isReversible(step, proposal);
  const opened: Event = {
    type: "gate.opened",
    at: now,
    gate_id,
    step_id: step.spec.step_id,
    call,
    rule,
    reason,
    demand,
    expires_at: (now + Math.min(gate_ms, demand.within_ms ?? gate_ms)) as Instant,
    duplicate_of: duplicate,
    ...(estimate && { estimate }),
    ...(reversible !== null && { reversible }),
    ...(preview && { preview }),
    ...(votes.length > 0 && { votes }),
    ...(stale && { stale }),
    ...(basis && { basis }),
  };
  return { events: [...voided(run, step, stale, now), opened] };
}

/** Why the attempt that was approved before came to nothing, if that is for having been something else than was shown. */
function stalenessOf({ standing }: Step): Fault | undefined {
  return standing.state === "failed_retryable" && standing.fault.code === "PREVIEW_STALE" ? standing.fault : undefined;
}

/** A yes to what is not so any more lets nobody through. */
function voided(run: Run, step: Step, stale: Fault | undefined, at: Instant): readonly Event[] {
  const gate = approvedGate(run, step);
  if (stale === undefined || gate?.status !== "approved") return [];
  return [{ type: "gate.closed", at, gate_id: gate.gate_id, reason: stale.message }];
}

/** A call that cannot just be sent again is still in doubt: a person has to find out. */
export function ask({ spec: { step_id } }: Step, why: string, at: Instant): Ruling {
  return { events: [{ type: "step.probed", at, step_id, saw: "unknown", why, next_at: null }] };
}

/** Whoever has said yes to this very call need not say it again, if it is they who are asked. That it is done again is another question. */
function votesFor(run: Run, step: Step, call: Call, { demand, duplicate }: Held, now: Instant): readonly Vote[] {
  const gate = approval(run, step, call, null, now);
  if (gate === null || gate.duplicate_of !== null || duplicate !== null) return [];
  const poll = { demand, requester: requesterOf(run, step), opened_at: now };
  return gate.votes.filter((vote) => mayVote(poll, vote));
}

/** Null: it leaves nothing that could be undone. */
function isReversible(step: Step, { tool }: Proposal): boolean | null {
  assert(tool !== null, "only what calls a tool that is known is held");
  const effect = worst(step.spec.effect, tool.effect);
  if (effect === "acts") return !isUndo(step) && tool.compensates;
  return effect === "writes" ? true : null;
}
