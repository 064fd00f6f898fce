import type { Event } from "../../src/core/event/event.ts";
import type { TallyCharge } from "../../src/core/limits/tally-charge.ts";
import { findStep, type Gate, type Run, type Step } from "../../src/core/run/run.ts";
import type { ObservedEvent } from "../journal-observer.ts";

type EventOf<Type extends Event["type"]> = Extract<Event, { type: Type }>;

/** I24: trust grows by one per approved and successful act, and a rejection or an undo removes all of it. */
export function checkTrust(observedEvent: ObservedEvent): void {
  const { sim, event } = observedEvent;
  if (sim.rules === null) return;
  for (const { tally, amount } of ("charges" in event && event.charges) || [])
    if (isTrustCharge({ tally })) sim.trustModel.add(observedEvent.before.tenant, tally, amount);
  switch (event.type) {
    case "step.succeeded":
      checkTrustEarned(observedEvent, event);
      break;
    case "step.failed":
      if (sumTrust(event.charges) !== 0)
        sim.violate(`I24: ${observedEvent.before.id} ${event.step_id} failed, but earned trust`);
      break;
    case "gate.rejected":
      checkTrustLost(observedEvent, observedEvent.before.gates.get(event.gate_id) as Gate, event.charges);
      break;
    case "step.compensating":
      checkTrustLost(observedEvent, event, event.charges);
      break;
  }
}

function isTrustCharge({ tally }: Pick<TallyCharge, "tally">): boolean {
  return tally.startsWith("trust/");
}

function sumTrust(charges: readonly TallyCharge[] | undefined): number {
  return (charges ?? []).filter(isTrustCharge).reduce((sum, { amount }) => sum + amount, 0);
}

function trustTally({ principal }: Run, { spec }: Step): string {
  return `trust/${spec.name}/${principal.id}`;
}

/** Trust is earned by a successful act that a person other than its principal approved. */
function checkTrustEarned({ sim, observedRun, before }: ObservedEvent, event: EventOf<"step.succeeded">): void {
  const step = findStep(before, event.step_id) as Step;
  const gateVotes = step.gate === null ? undefined : observedRun.votes.get(step.gate);
  const approved = gateVotes?.votes.some(({ by }) => by !== before.principal.id) === true;
  const earns = sim.rules?.trustRule.tools.includes(step.spec.name) === true && step.cause?.by !== "undo";
  const expected = event.ledger !== undefined && approved && earns ? 1 : 0;
  const actual = sumTrust(event.charges);
  if (actual > 0) sim.counts.trustEarned += 1;
  if (actual !== expected) sim.violate(`I24: ${before.id} ${event.step_id} earned ${actual} instead of ${expected}`);
}

/** The lost amount equals the trust that the writing worker had read. */
function checkTrustLost(
  { sim, before, writer }: ObservedEvent,
  of: { readonly step_id: Step["spec"]["step_id"] },
  charges: EventOf<"gate.rejected">["charges"],
): void {
  const tally = trustTally(before, findStep(before, of.step_id) as Step);
  const actual = -sumTrust(charges);
  if (actual > 0) sim.counts.trustLost += 1;
  const reads = sim.trustModel.readsOf(writer, before.tenant, tally);
  if (reads.size > 0 && !reads.has(actual) && (actual > 0 || [...reads].every((value) => value > 0)))
    sim.violate(`I24: ${before.id} ${of.step_id} removed ${actual} of ${tally}; its worker had read ${[...reads]}`);
}

/** Returns why the call may not start on earned trust, or null if its trust was earned and not lost. */
export function trustProblem({ sim, before }: ObservedEvent, step: Step): string | null {
  const { rules, trustModel } = sim;
  if (rules?.trustRule.tools.includes(step.spec.name) !== true) return "its tool earns no trust";
  const earned = trustModel.earned(before.tenant, trustTally(before, step));
  if (earned < rules.trustRule.after) return `its trust is ${earned} of ${rules.trustRule.after}`;
  sim.counts.trusted += 1;
  return null;
}
