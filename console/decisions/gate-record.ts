import type { Objection } from "../../src/core/approval/verdict-basis.ts";
import type { Event } from "../../src/core/event/event.ts";

/** A decision about a gate, and the person who made it. */
interface GateDecision {
  readonly how: "approved" | "edited and approved" | "endorsed" | "rejected" | "expired" | "closed";
  readonly by: string | null;
  readonly reason: string;
  readonly at: number;
}

/** The record of a gate in the journal of its run. */
export interface GateRecord {
  readonly opened_at: number;
  /** The rule that held the call. */
  readonly rule: string;
  /** Every rule that held or refused the call, and the rules that allowed it. */
  readonly objections: readonly Objection[];
  readonly passed: readonly string[];
  /** In the order of the journal. An endorsement is one approval of several. */
  readonly decisions: readonly GateDecision[];
}

/** Returns the record of a gate, or null if the events do not have its opening. */
export function gateRecord(events: Iterable<Event>, gate_id: string): GateRecord | null {
  let record: GateRecord | null = null;
  const decisions: GateDecision[] = [];
  for (const event of events) {
    if (!("gate_id" in event) || event.gate_id !== gate_id) continue;
    if (event.type === "gate.opened") {
      const { at, rule, basis, reason } = event;
      const objections = basis?.objections ?? [{ rule, says: "hold" as const, reason }];
      record = { opened_at: at, rule, objections, passed: basis?.passed ?? [], decisions };
    }
    const decision = decisionOf(event);
    if (decision !== null) decisions.push(decision);
  }
  return record;
}

function decisionOf(event: Event): GateDecision | null {
  const { at } = event;
  switch (event.type) {
    case "gate.approved":
      return { how: "approved", by: event.by.id, reason: event.reason, at };
    case "gate.amended":
      return { how: "edited and approved", by: event.by.id, reason: event.reason, at };
    case "gate.endorsed":
      return { how: "endorsed", by: event.by.id, reason: event.reason, at };
    case "gate.rejected":
      return { how: "rejected", by: event.by.id, reason: event.reason, at };
    case "gate.expired":
      return { how: "expired", by: null, reason: "no decision was made in time", at };
    case "gate.closed":
      return { how: "closed", by: null, reason: event.reason, at };
    default:
      return null;
  }
}
