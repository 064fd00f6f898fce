import type { Event } from "../../src/core/event/event.ts";
import type { Json } from "../../src/core/values/json.ts";

/** The outcome of a call after its approval. */
export type CallOutcome =
  | { readonly is: "waiting" | "running" | "in_doubt" | "settled"; readonly at: number; readonly text: string }
  | { readonly is: "succeeded"; readonly at: number; readonly output: Json }
  | { readonly is: "failed"; readonly at: number; readonly text: string };

/** Returns the outcome of the call of a gate, or null if the gate did not approve it. */
export function callOutcome(events: Iterable<Event>, gate_id: string, step_id: string): CallOutcome | null {
  let outcome: CallOutcome | null = null;
  for (const event of events) {
    if (isApproval(event, gate_id)) outcome = { is: "waiting", at: event.at, text: "The call starts." };
    else if (outcome !== null && "step_id" in event && event.step_id === step_id)
      outcome = nextOutcome(event) ?? outcome;
  }
  return outcome;
}

function isApproval(event: Event, gate_id: string): boolean {
  return (event.type === "gate.approved" || event.type === "gate.amended") && event.gate_id === gate_id;
}

function nextOutcome(event: Event): CallOutcome | null {
  const { at } = event;
  switch (event.type) {
    case "step.started":
      return { is: "running", at, text: "The call is running." };
    case "step.succeeded":
      return { is: "succeeded", at, output: event.output };
    case "step.failed":
      return { is: "failed", at, text: event.fault.message };
    case "step.cancelled":
      return { is: "failed", at, text: "The call was cancelled." };
    case "step.rejected":
      return { is: "failed", at, text: "The call was refused after the approval." };
    case "step.doubted":
      return { is: "in_doubt", at, text: event.fault.message };
    case "step.settled":
      return { is: "settled", at, text: `settled as ${event.settled.as.replaceAll("_", " ")}: ${event.reason}` };
    default:
      return null;
  }
}
