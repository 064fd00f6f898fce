import assert from "node:assert/strict";
import type { Decision } from "../../core/decide/decide.ts";
import type { Event } from "../../core/event/event.ts";
import { type Fault, faults } from "../../core/values/fault.ts";

/** Asserts that every fault has a known code and a message, and that every refusal, hold and wait has a reason. */
export function assertMessages({ events, refusal }: Pick<Decision, "events" | "refusal">): void {
  if (refusal !== null) assertFault(refusal);
  for (const event of events) {
    for (const fault of faultsIn(event)) assertFault(fault);
    for (const reason of reasonsIn(event)) assert.notEqual(reason, "", `${event.type} has a reason`);
  }
}

function assertFault({ code, message }: Fault): void {
  assert.ok(Object.hasOwn(faults, code), `${code} is a known fault code`);
  assert.notEqual(message, "", `${code} has a message`);
}

function faultsIn(event: Event): readonly Fault[] {
  if ("fault" in event) return [event.fault];
  if (event.type === "step.parked" && event.on.for === "tool") return [event.on.fault];
  const settledFault = event.type === "step.settled" && event.settled.as === "happened" ? event.settled.fault : null;
  return settledFault === null ? [] : [settledFault];
}

/** Returns the reasons that the core writes. Reasons of people may be empty. */
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
