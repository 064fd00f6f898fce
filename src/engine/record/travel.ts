import type { Decision } from "../../core/decide.ts";
import type { Event } from "../../core/event.ts";
import type { GateId } from "../../core/id.ts";

/** Whether what was decided has an entry to itself: it may be refused for reasons of its own, and nothing else is to be refused with it. */
export function travelsAlone({ events, checks }: Decision): boolean {
  return (
    checks.length > 0 ||
    events.some(
      (event) =>
        ("ledger" in event && event.ledger !== null) ||
        ("state" in event && event.state) ||
        isAboutSignal(event) ||
        isPaidInAdvance(event),
    )
  );
}

/** A limit may refuse it. */
function isPaidInAdvance(event: Event): boolean {
  return event.type === "budget.alerted" || (event.type === "step.started" && event.charges !== undefined);
}

/** Its row has a version to be won or lost. */
function isAboutSignal(event: Event): boolean {
  if (event.type === "step.parked") return event.on.for === "signal";
  return (event.type === "step.succeeded" || event.type === "step.failed") && event.signal !== undefined;
}

/** An entry puts a row once, and each change of a gate is a version of its row. */
export function sharesGate(earlier: readonly Event[], more: readonly Event[]): boolean {
  return more.some((event) => {
    const gate = gateOf(event);
    return gate !== null && earlier.some((other) => gateOf(other) === gate);
  });
}

function gateOf(event: Event): GateId | null {
  if ("gate_id" in event) return event.gate_id;
  return event.type === "step.started" && event.gate !== null ? event.gate.gate_id : null;
}
