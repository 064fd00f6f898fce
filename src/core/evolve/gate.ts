import { assert, unreachable } from "../assert.ts";
import { voteOf } from "../demand.ts";
import type { Event, GateEvent } from "../event.ts";
import { fault } from "../fault.ts";
import { placed, sunk } from "../place.ts";
import { type Gate, type MutableRun, stepOf } from "../run.ts";
import type { Step } from "../step.ts";
import { noted } from "./notice.ts";

/** What a run is after one more fact about a gate. */
export function evolveGate(run: MutableRun, event: Event & GateEvent): MutableRun {
  if (event.type === "gate.opened") return opened(run, event);
  const gate = run.gates.get(event.gate_id);
  assert(gate !== undefined, "only an opened gate can be decided");
  switch (event.type) {
    case "gate.endorsed":
      return withGate(run, { ...gate, votes: [...gate.votes, voteOf(event.by, event.at)] });
    case "gate.approved": {
      const votes = [...gate.votes, voteOf(event.by, event.at)];
      const decided_by = votes.map(({ by }) => by).join(" and ");
      const decided = withGate(run, { ...gate, status: "approved", decided_by, votes, use_by: event.use_by });
      return placed(decided, stepOf(run, gate), { state: "ready" });
    }
    case "gate.amended": {
      const { by, use_by, call } = event;
      const votes = [voteOf(by, event.at)];
      // What was shown was of another call.
      const { preview: _, ...asked } = gate;
      const decided = withGate(run, { ...asked, status: "approved", decided_by: by.id, votes, use_by, call });
      return placed(decided, { ...stepOf(run, gate), call }, { state: "ready" });
    }
    case "gate.escalated": {
      noted(run, event.notices);
      const told = withGate(run, { ...gate, told_at: event.at });
      const step = stepOf(run, gate);
      return placed(told, step, step.standing);
    }
    case "gate.rejected": {
      const decided = withGate(run, { ...gate, status: "rejected", decided_by: event.by.id });
      return refused(
        decided,
        stepOf(run, gate),
        "GATE_REJECTED",
        `${event.by.id} said no to ${gate.step_id}: ${event.reason || "no reason given"}`,
        event,
      );
    }
    case "gate.expired":
      return refused(
        withGate(run, { ...gate, status: "expired" }),
        stepOf(run, gate),
        "GATE_EXPIRED",
        `nobody decided ${gate.step_id} in time; resume the run to ask again`,
        event,
      );
    case "gate.closed":
      return withGate(run, { ...gate, status: "closed" });
    case "gate.contested":
      return run;
    default:
      return unreachable(event);
  }
}

function opened(run: MutableRun, event: Extract<Event, { type: "gate.opened" }>): MutableRun {
  const { type: _type, at, ...given } = event;
  const undecided = {
    status: "open",
    version: 0,
    opened_at: at,
    use_by: null,
    decided_by: null,
    told_at: null,
  } as const;
  const gate: Gate = { ...given, votes: event.votes ?? [], ...undecided };
  const step = stepOf(run, gate);
  const held = { ...step, call: event.call, gate: event.gate_id };
  return placed(withGate(run, gate), held, { state: "waiting_approval", gate_id: event.gate_id });
}

export function withGate(run: MutableRun, gate: Gate): MutableRun {
  run.gates = run.gates.set(gate.gate_id, { ...gate, version: gate.version + 1 });
  return run;
}

function refused(
  run: MutableRun,
  step: Step,
  code: "GATE_REJECTED" | "GATE_EXPIRED",
  message: string,
  event: Extract<Event, { type: "gate.rejected" | "gate.expired" }>,
): MutableRun {
  const over = { ...step, world: "permanent_failure" as const };
  return sunk(placed(run, over, { state: "rejected", rule: "gate", fault: fault(code, message) }), step, event);
}
