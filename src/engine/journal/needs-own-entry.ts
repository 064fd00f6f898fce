import type { Decision } from "../../core/decide/decide.ts";
import type { Event } from "../../core/event/event.ts";
import { eventTraits } from "../../core/event/event-traits.ts";
import type { GateId } from "../../core/values/ids.ts";

/** Returns whether a decision needs an append of its own, because the store may refuse it for a condition of its own. */
export function needsOwnEntry({ events, checks }: Decision): boolean {
  return checks.length > 0 || events.some(isAppendedAlone);
}

function isAppendedAlone(event: Event): boolean {
  const { alone } = eventTraits[event.type];
  return alone === "by_content" ? hasConditions(event) : alone === "always";
}

/** The store compares the version of a row with the one that this event expects, or a limit may refuse its charges. */
function hasConditions(event: Event): boolean {
  return (
    ("ledger" in event && event.ledger !== null) ||
    ("state" in event && event.state !== undefined) ||
    ("signal" in event && event.signal !== undefined) ||
    ("naming" in event && event.naming !== undefined) ||
    (event.type === "step.parked" && event.on.for === "signal") ||
    (event.type === "step.started" && event.charges !== undefined)
  );
}

/** Returns whether both lists change the same gate. An entry can put a row only once. */
export function sharesGate(earlier: readonly Event[], more: readonly Event[]): boolean {
  return more.some((event) => {
    const gate = gateIdOf(event);
    return gate !== null && earlier.some((other) => gateIdOf(other) === gate);
  });
}

function gateIdOf(event: Event): GateId | null {
  if ("gate_id" in event) return event.gate_id;
  return event.type === "step.started" && event.gate !== null ? event.gate.gate_id : null;
}
