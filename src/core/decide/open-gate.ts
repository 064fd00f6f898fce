import { type Demand, mayVote, type Vote } from "../approval/approval-demand.ts";
import { isFinalVerb } from "../approval/verb-rules.ts";
import type { Basis } from "../approval/verdict-basis.ts";
import type { Proposal } from "../call/proposal.ts";
import type { DuplicateAct } from "../event/duplicate-act.ts";
import type { Call, Event } from "../event/event.ts";
import { earlierActs } from "../run/branch-acts.ts";
import type { Run } from "../run/run.ts";
import { isUndoStep, type Step } from "../run/step.ts";
import { requesterOf } from "../run/step-principal.ts";
import type { AskedValue } from "../tool/asked-data.ts";
import { assert } from "../values/assert.ts";
import { worseEffect } from "../values/effect.ts";
import type { Fault } from "../values/fault.ts";
import type { Instant } from "../values/ids.ts";
import type { CommandOf } from "./command.ts";
import { findApproval, lastApprovedGate } from "./find-approval.ts";
import { gateNotices } from "./gate-notice.ts";
import type { PartialDecision } from "./partial-decision.ts";

/** The reason for a gate and the demand that it makes. */
interface GateRequest {
  readonly rule: string;
  readonly reason: string;
  readonly demand: Demand;
  /** The values that the call lacks. */
  readonly asks?: readonly AskedValue[];
  readonly duplicate: DuplicateAct | null;
  readonly basis?: Basis;
  /** Why an earlier approval is no longer valid. */
  readonly stale?: Fault;
}

/** Opens a gate for a call, with its preview, expected cost and reversibility. */
export function openGate(
  run: Run,
  step: Step,
  call: Call,
  { proposal, now }: CommandOf<"start">,
  held: GateRequest,
): PartialDecision {
  const { rule, reason, demand, asks, duplicate, basis, stale = stalePreviewFault(step) } = held;
  if (step.act?.doubt) return leaveInDoubt(step, reason, now);
  const { gate_id, gate_ms, gate_notice, estimate, preview } = proposal;
  if (preview === "wanted") return { events: [], need: "preview" };
  assert(gate_id !== null, "a call is proposed with the id of its gate");
  const votes = stale === undefined ? carriedVotes(run, step, call, held, now) : [];
  const reversible = isReversible(step, proposal);
  const earlier = call.key === null || isUndoStep(step) ? [] : earlierActs(run, step);
  const opened = {
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
    ...(earlier.length > 0 && { earlier }),
    ...(estimate && { estimate }),
    ...(reversible !== null && { reversible }),
    ...(reversible === true && isRolledBack(run, call) && { covers: "compensation" as const }),
    ...(preview && { preview }),
    ...(asks && { asks_for: asks }),
    ...(votes.length > 0 && { votes }),
    ...(stale && { stale }),
    ...(basis && { basis }),
  } as const;
  const told = gate_notice ? { ...opened, ...gateNotices(run, step.spec.name, opened) } : opened;
  return { events: [...closeStaleGate(run, step, stale, now), told] };
}

/** Returns the fault of the last attempt if its result did not match the approved preview. */
function stalePreviewFault({ standing }: Step): Fault | undefined {
  return standing.state === "failed_retryable" && standing.fault.code === "PREVIEW_STALE" ? standing.fault : undefined;
}

/** Closes an approved gate whose preview is stale. */
function closeStaleGate(run: Run, step: Step, stale: Fault | undefined, at: Instant): readonly Event[] {
  const gate = lastApprovedGate(run, step);
  if (stale === undefined || gate?.status !== "approved") return [];
  return [{ type: "gate.closed", at, gate_id: gate.gate_id, reason: stale.message }];
}

/** Leaves an act in doubt that cannot be sent again. A person must settle it. */
export function leaveInDoubt({ spec: { step_id } }: Step, why: string, at: Instant): PartialDecision {
  return { events: [{ type: "step.probed", at, step_id, saw: "unknown", why, next_at: null }] };
}

/** Returns the votes of an earlier approval of this call that still count. They do not count for a repeated act. */
function carriedVotes(
  run: Run,
  step: Step,
  call: Call,
  { demand, duplicate }: GateRequest,
  now: Instant,
): readonly Vote[] {
  const gate = findApproval(run, step, call, null, now);
  if (gate === null || gate.duplicate_of !== null || duplicate !== null) return [];
  const poll = { demand, requester: requesterOf(run, step), opened_at: now };
  return gate.votes.filter((vote) => mayVote(poll, vote));
}

/** True if the rollback of the plan undoes the act. */
function isRolledBack({ plan }: Run, { key }: Call): boolean {
  return plan?.atomicity === "plan" && key !== null;
}

/** Returns null if the call leaves nothing to undo. */
function isReversible(step: Step, { tool }: Proposal): boolean | null {
  assert(tool !== null, "only a call of a known tool is held");
  if (step.spec.kind === "verb") return isFinalVerb(tool.name) ? false : null;
  const effect = worseEffect(step.spec.effect, tool.effect);
  if (effect === "acts") return !isUndoStep(step) && tool.compensates;
  return effect === "writes" ? true : null;
}
