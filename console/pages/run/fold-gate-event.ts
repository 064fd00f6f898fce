import type { GateEvent } from "../../../src/core/event/event.ts";
import type { Instant } from "../../../src/core/values/ids.ts";
import type { GateHistory, StepHistory } from "./step-history.ts";

/** Adds an event of a gate to the history of its step. A new type of event does not compile until it has a case here. */
export function foldGateEvent(history: StepHistory, event: GateEvent & { readonly at: Instant }): void {
  if (event.type === "gate.opened") {
    history.gates.push({ gate_id: event.gate_id, opened: event, demand: event.demand, status: "open", votes: [] });
    history.input = event.call.input;
    history.call = event.call;
    return;
  }
  const gate = history.gates.find(({ gate_id }) => gate_id === event.gate_id);
  if (gate === undefined) return;
  const status = statuses[event.type];
  if (status !== null) gate.status = status;
  if (event.type === "gate.amended") {
    history.input = event.call.input;
    history.call = event.call;
  }
  const says = votes[event.type];
  if (says === null || !("by" in event)) return;
  const reason = event.type === "gate.contested" ? event.fault.message : event.reason;
  gate.votes.push({ by: event.by, at: event.at, says, reason });
}

type LaterType = Exclude<GateEvent["type"], "gate.opened">;

/** The status of a gate after each event. Null: it does not change. */
const statuses: Readonly<Record<LaterType, GateHistory["status"] | null>> = {
  "gate.endorsed": null,
  "gate.approved": "approved",
  "gate.amended": "edited",
  "gate.escalated": null,
  "gate.rejected": "rejected",
  "gate.expired": "expired",
  "gate.closed": "closed",
  "gate.contested": null,
};

/** The vote that each event records. Null: none. */
const votes: Readonly<Record<LaterType, GateHistory["votes"][number]["says"] | null>> = {
  "gate.endorsed": "approve",
  "gate.approved": "approve",
  "gate.amended": "edit",
  "gate.escalated": null,
  "gate.rejected": "reject",
  "gate.expired": null,
  "gate.closed": null,
  "gate.contested": "refused",
};
