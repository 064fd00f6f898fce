import type { Event } from "../../src/core/event/event.ts";
import { findStep, type Gate, type Run, type Step } from "../../src/core/run/run.ts";
import type { ObservedEvent } from "../journal-observer.ts";
import type { SimContext } from "../sim-context.ts";
import { FORBIDDEN_TEXT, type RequiredVotes } from "../sim-rules.ts";
import { type GateVotes, hasEnoughVotes, isVoteEligible } from "../vote-model.ts";

type EventOf<Type extends Event["type"]> = Extract<Event, { type: Type }>;

/**
 * I23: a call has the votes of as many different permitted people as it needs, for exactly the input that runs. No call
 * runs with a forbidden text.
 */
export function checkVotes(observedEvent: ObservedEvent): void {
  const { event } = observedEvent;
  switch (event.type) {
    case "gate.opened":
      checkGateOpened(observedEvent, event);
      break;
    case "gate.endorsed":
    case "gate.approved":
      checkVote(observedEvent, event);
      break;
    case "gate.amended":
      checkAmendment(observedEvent, event);
      break;
    case "gate.escalated":
      checkEscalation(observedEvent, event);
      break;
    case "gate.contested":
      checkContested(observedEvent, event);
      break;
    case "step.started":
      checkStartVotes(observedEvent, event);
      break;
    case "step.succeeded":
      checkSuccessVotes(observedEvent, event);
      break;
  }
}

/** Returns the votes that the rules require for a step; null: any person may approve. */
function findRequiredVotes({ rules }: SimContext, { spec, cause }: Step): RequiredVotes | null {
  return cause?.by === "undo" ? null : (rules?.requiredVotes.get(spec.name) ?? null);
}

function requesterId({ principal }: Run, { cause }: Step): string {
  return cause?.by === "undo" ? cause.asked_by : principal.id;
}

function stepOf(run: Run, { step_id }: { readonly step_id: Step["spec"]["step_id"] }): Step {
  return findStep(run, step_id) as Step;
}

/** A new gate takes over only votes for the same call. */
function checkGateOpened({ sim, observedRun, before }: ObservedEvent, event: EventOf<"gate.opened">): void {
  const gateVotes = observedRun.votes.openGate(event);
  for (const vote of event.votes ?? [])
    if (!observedRun.votes.hasEarlierVote(vote, gateVotes, event.gate_id))
      sim.violate(
        `I23: ${event.gate_id} of ${before.id} starts with a vote of ${vote.by} that was not cast for that call`,
      );
  if (event.stale !== undefined) sim.counts.staleGates += 1;
}

function checkVote(
  { sim, observedRun, before }: ObservedEvent,
  event: EventOf<"gate.endorsed" | "gate.approved">,
): void {
  const { gate_id, by, at } = event;
  const gateVotes = observedRun.votes.get(gate_id);
  const gate = before.gates.get(gate_id);
  if (gateVotes === undefined || gate === undefined) return;
  const step = stepOf(before, gate);
  const [required, requester] = [findRequiredVotes(sim, step), requesterId(before, step)];
  const where = `${gate_id} of ${before.id} (${step.spec.name})`;
  if (!isVoteEligible(required, gateVotes.opened, requester, { by: by.id, roles: by.roles ?? [], at }))
    sim.violate(`I23: ${where} counts the vote of ${by.id}, who is not permitted`);
  observedRun.votes.addVote(gate_id, by, at);
  const enough = hasEnoughVotes(required, observedRun.votes.get(gate_id) as GateVotes, requester);
  if (event.type === "gate.approved" && !enough) sim.violate(`I23: ${where} was approved with too few votes`);
  if (event.type === "gate.endorsed" && enough) sim.violate(`I23: ${where} has enough votes, but is not approved`);
  if (event.type === "gate.endorsed") sim.counts.endorsed += 1;
}

function checkAmendment(
  { sim, observedRun, before }: ObservedEvent,
  { gate_id, by, at, call }: EventOf<"gate.amended">,
): void {
  const gateVotes = observedRun.votes.get(gate_id);
  const gate = before.gates.get(gate_id);
  if (gateVotes === undefined || gate === undefined) return;
  const step = stepOf(before, gate);
  sim.counts.amended += 1;
  if (
    !isVoteEligible(findRequiredVotes(sim, step), gateVotes.opened, requesterId(before, step), {
      by: by.id,
      roles: by.roles ?? [],
      at,
    })
  )
    sim.violate(`I23: ${gate_id} of ${before.id} was edited by ${by.id}, who is not permitted`);
  observedRun.votes.replaceCall(gate_id, by, at, call.digest);
}

/** A gate escalates at its time and not before. */
function checkEscalation(
  { sim, observedRun, before }: ObservedEvent,
  { gate_id, at }: EventOf<"gate.escalated">,
): void {
  sim.counts.escalated += 1;
  const gate = before.gates.get(gate_id) as Gate;
  const escalation = findRequiredVotes(sim, stepOf(before, gate))?.escalation ?? null;
  const opened = observedRun.votes.get(gate_id)?.opened ?? 0;
  if (escalation === null || at < opened + escalation.ms)
    sim.violate(`I23: ${gate_id} of ${before.id} escalated too early`);
}

/** No permitted person is refused. */
function checkContested(
  { sim, observedRun, before }: ObservedEvent,
  { gate_id, by, at, fault }: EventOf<"gate.contested">,
): void {
  const gate = before.gates.get(gate_id);
  const gateVotes = observedRun.votes.get(gate_id);
  if (fault.code !== "AUTH_FORBIDDEN" || gate === undefined || gateVotes === undefined || by.kind !== "person") return;
  const step = stepOf(before, gate);
  sim.counts.unasked += 1;
  if (
    isVoteEligible(findRequiredVotes(sim, step), gateVotes.opened, requesterId(before, step), {
      by: by.id,
      roles: by.roles ?? [],
      at,
    })
  )
    sim.violate(`I23: ${by.id} was refused at ${gate_id} of ${before.id}, but is permitted`);
}

function checkStartVotes(observedEvent: ObservedEvent, event: EventOf<"step.started">): void {
  const { sim, before } = observedEvent;
  const step = stepOf(before, event);
  if (sim.rules === null || step.cause?.by === "undo") return;
  const where = `${before.id} ${event.step_id} (${step.spec.name})`;
  const { text } = event.call.input as { readonly text?: unknown };
  if (text === FORBIDDEN_TEXT && sim.rules.guardedTools.includes(step.spec.name))
    sim.violate(`I23: ${where} was started with a forbidden text`);
  const wrong = votesProblem(observedEvent, step);
  if (wrong !== null) sim.violate(`I23: ${where} was started ${wrong}`);
}

/** Calls without a `step.started`, and reused results, need the same votes. Forks of one run share their results. */
function checkSuccessVotes(observedEvent: ObservedEvent, event: EventOf<"step.succeeded">): void {
  const { sim, before } = observedEvent;
  const isShared = event.reused != null && sim.observer.get(event.reused.run)?.run.origin === before.origin;
  if (sim.rules === null || isShared) return;
  const step = stepOf(before, event);
  const wrong = step.cause?.by === "undo" ? null : votesProblem(observedEvent, step);
  if (wrong !== null) sim.violate(`I23: ${before.id} ${event.step_id} (${step.spec.name}) ended ${wrong}`);
}

function votesProblem({ sim, observedRun, before }: ObservedEvent, step: Step): string | null {
  const required = findRequiredVotes(sim, step);
  if (required === null) return null;
  const gateVotes = step.gate === null ? undefined : observedRun.votes.get(step.gate);
  if (gateVotes === undefined) return "without a gate";
  return hasEnoughVotes(required, gateVotes, requesterId(before, step)) ? null : "with too few votes";
}
