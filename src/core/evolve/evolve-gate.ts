import { toVote } from "../approval/approval-demand.ts";
import type { Event, GateEvent } from "../event/event.ts";
import type { NamedAct } from "../event/left-act.ts";
import { type Gate, getStep, type MutableRun } from "../run/run.ts";
import type { Step } from "../run/step.ts";
import { applyFailurePolicy, moveStep } from "../run/step-transition.ts";
import { assert, unreachable } from "../values/assert.ts";
import { fault } from "../values/fault.ts";
import { addNotices } from "./pending-notices.ts";

/** Applies an event of a gate to the run. */
export function evolveGate(run: MutableRun, event: Event & GateEvent): MutableRun {
  if (event.type === "gate.opened") return applyGateOpened(run, event);
  const gate = run.gates.get(event.gate_id);
  assert(gate !== undefined, "only an opened gate can be decided");
  switch (event.type) {
    case "gate.endorsed":
      return putGate(run, { ...gate, ...sameAct(event), votes: [...gate.votes, toVote(event.by, event.at)] });
    case "gate.approved": {
      const votes = [...gate.votes, toVote(event.by, event.at)];
      const decided_by = votes.map(({ by }) => by).join(" and ");
      const { use_by } = event;
      const decided = putGate(run, { ...gate, ...sameAct(event), status: "approved", decided_by, votes, use_by });
      return moveStep(decided, getStep(run, gate), { state: "ready" });
    }
    case "gate.amended": {
      const { by, use_by, call } = event;
      // A person who supplies data has not seen the complete call, so this is no vote on it.
      const votes = gate.asks_for === undefined ? [toVote(by, event.at)] : [];
      // The preview describes the call before the edit.
      const { preview: _preview, asks_for: _asked, ...rest } = gate;
      const decided = putGate(run, { ...rest, status: "approved", decided_by: by.id, votes, use_by, call });
      return moveStep(decided, { ...getStep(run, gate), call }, { state: "ready" });
    }
    case "gate.escalated": {
      addNotices(run, event.notices);
      const escalated = putGate(run, { ...gate, escalated_at: event.at });
      const step = getStep(run, gate);
      return moveStep(escalated, step, step.standing); // Sets the next timer of the gate.
    }
    case "gate.rejected": {
      const decided = putGate(run, { ...gate, status: "rejected", decided_by: event.by.id });
      return refuseGatedStep(
        decided,
        getStep(run, gate),
        "GATE_REJECTED",
        `${event.by.id} rejected ${gate.step_id}: ${event.reason || "no reason given"}`,
        event,
      );
    }
    case "gate.expired":
      return refuseGatedStep(
        putGate(run, { ...gate, status: "expired" }),
        getStep(run, gate),
        "GATE_EXPIRED",
        `the gate of ${gate.step_id} expired undecided; resume the run to ask again`,
        event,
      );
    case "gate.closed":
      return putGate(run, { ...gate, status: "closed" });
    case "gate.contested":
      return run;
    default:
      return unreachable(event);
  }
}

function sameAct({ same_as, same_in }: NamedAct): NamedAct {
  if (same_as === undefined) return {};
  return same_in === undefined ? { same_as } : { same_as, same_in };
}

function applyGateOpened(run: MutableRun, event: Extract<Event, { type: "gate.opened" }>): MutableRun {
  const { type: _type, at, notices, ...fields } = event;
  addNotices(run, notices);
  const undecided = {
    status: "open",
    version: 0,
    opened_at: at,
    use_by: null,
    decided_by: null,
    escalated_at: null,
  } as const;
  const gate: Gate = { ...fields, votes: event.votes ?? [], ...undecided };
  const step = getStep(run, gate);
  // The call of a gate that asks for data is not complete, so it is not the call of the step.
  const call = event.asks_for === undefined ? event.call : step.call;
  const held = { ...step, call, gate: event.gate_id };
  return moveStep(putGate(run, gate), held, { state: "waiting_approval", gate_id: event.gate_id });
}

export function putGate(run: MutableRun, gate: Gate): MutableRun {
  run.gates = run.gates.set(gate.gate_id, { ...gate, version: gate.version + 1 });
  return run;
}

function refuseGatedStep(
  run: MutableRun,
  step: Step,
  code: "GATE_REJECTED" | "GATE_EXPIRED",
  message: string,
  event: Extract<Event, { type: "gate.rejected" | "gate.expired" }>,
): MutableRun {
  const refused = { ...step, world: "permanent_failure" as const };
  return applyFailurePolicy(
    moveStep(run, refused, { state: "rejected", rule: "gate", fault: fault(code, message) }),
    step,
    event,
  );
}
