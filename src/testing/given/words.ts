import assert from "node:assert/strict";
import type { Decision } from "../../core/decide.ts";
import type { Event } from "../../core/event.ts";
import { type Fault, faults } from "../../core/fault.ts";

/** Whoever is refused, held or left waiting is told why: every fault is one of the table and has words, every reason too. */
export function assertWords({ events, refusal }: Pick<Decision, "events" | "refusal">): void {
  if (refusal !== null) assertFault(refusal);
  for (const event of events) {
    for (const fault of faultsIn(event)) assertFault(fault);
    for (const words of reasonsIn(event)) assert.notEqual(words, "", `${event.type} says why`);
  }
}

function assertFault({ code, message }: Fault): void {
  assert.ok(Object.hasOwn(faults, code), `${code} is a fault of the table`);
  assert.notEqual(message, "", `${code} says what, to which, and what now`);
}

function faultsIn(event: Event): readonly Fault[] {
  if ("fault" in event) return [event.fault];
  if (event.type === "step.parked" && event.on.for === "tool") return [event.on.fault];
  const seen = event.type === "step.settled" && event.settled.as === "happened" ? event.settled.fault : null;
  return seen === null ? [] : [seen];
}

/** What the law itself says; people may keep their reasons to themselves. */
function reasonsIn(event: Event): readonly string[] {
  switch (event.type) {
    case "step.probed":
    case "step.readied":
      return [event.why];
    case "step.rejected":
      return [event.rule];
    case "step.settled":
      return [event.by, ...(["marker", "verifier", "declaration"].includes(event.by) ? [event.reason] : [])];
    case "gate.opened":
      return [event.rule, event.reason];
    case "gate.closed":
      return [event.reason];
    default:
      return [];
  }
}
