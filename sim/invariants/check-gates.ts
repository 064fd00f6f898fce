import type { Event } from "../../src/core/event/event.ts";
import type { Gate, Run, Step } from "../../src/core/run/run.ts";
import type { ObservedEvent } from "../journal-observer.ts";
import { trustProblem } from "./check-trust.ts";

type StartedEvent = Extract<Event, { type: "step.started" }>;

/** I7: a call that needs approval has exactly one, by a permitted person, in time, for exactly this call. */
export function checkGates(observedEvent: ObservedEvent): void {
  const { event } = observedEvent;
  switch (event.type) {
    case "gate.approved":
    case "gate.amended":
    case "gate.endorsed":
    case "gate.rejected":
      checkDecision(observedEvent, event);
      break;
    case "step.started":
      checkStart(observedEvent, event);
      break;
  }
}

type DecisionEvent = Extract<Event, { type: "gate.approved" | "gate.amended" | "gate.endorsed" | "gate.rejected" }>;

function checkDecision({ sim, before }: ObservedEvent, event: DecisionEvent): void {
  const gate = before.gates.get(event.gate_id) as Gate;
  const { by, at } = event;
  if (gate.status !== "open") sim.violate(`I7: ${gate.gate_id} was decided while it is ${gate.status}`);
  if (by.kind !== "person") sim.violate(`I7: ${gate.gate_id} was decided by ${by.kind} ${by.id}`);
  if (by.id === before.principal.id) sim.violate(`I7: ${gate.gate_id} was decided by its requester`);
  if (by.tenant !== before.tenant) sim.violate(`I10: ${gate.gate_id} of ${before.tenant} was decided by ${by.tenant}`);
  if (at >= gate.expires_at) sim.violate(`I7: ${gate.gate_id} was decided after it expired`);
}

function checkStart(observedEvent: ObservedEvent, event: StartedEvent): void {
  const { sim, observedRun, before } = observedEvent;
  const step = before.steps.get(before.index.get(event.step_id) as number);
  const where = `${before.id} ${event.step_id}.${event.attempt}`;
  if (event.gate !== null) {
    const gate = before.gates.get(event.gate.gate_id);
    if (observedRun.consumed.has(event.gate.gate_id))
      sim.violate(`I7: ${where} consumed ${event.gate.gate_id} a second time`);
    if (gate?.status !== "approved") sim.violate(`I7: ${where} consumed a gate that is ${gate?.status}`);
    observedRun.consumed.set(event.gate.gate_id, event.step_id);
    sim.counts.gatesConsumed += 1;
  }
  if (!needsPerson(tenantSetup(sim, before), before, step, event)) return;
  const problem = approvalProblem(before, step, event);
  if (problem === null) return;
  const untrusted = step.spec.gate === "human_confirm" ? problem : trustProblem(observedEvent, step);
  if (untrusted !== null) sim.violate(`I7: ${where} was started ${problem}: ${untrusted}`);
}

const tenantSetup = (sim: ObservedEvent["sim"], { tenant }: Run) =>
  sim.config.tenants.find(({ name }) => name === tenant);

function needsPerson(
  tenant: ReturnType<typeof tenantSetup>,
  run: Run,
  { spec, cause }: Step,
  { ledger }: StartedEvent,
): boolean {
  if (cause?.by === "undo") return false;
  if (spec.gate === "human_confirm") return true;
  return ledger !== null && run.mode === "human_gated" && tenant?.trust.includes(spec.name) !== true;
}

function approvalProblem(run: Run, step: Step, { call, at, gate: consumes }: StartedEvent): string | null {
  const gate = step.gate === null ? undefined : run.gates.get(step.gate);
  if (gate === undefined) return "without a gate";
  if (gate.status !== "approved" && gate.status !== "consumed") return `on a gate that is ${gate.status}`;
  if (gate.status === "approved" && consumes?.gate_id !== gate.gate_id) return "without consuming its gate";
  if (gate.call.digest !== call.digest) return "with a call other than the approved one";
  if (gate.use_by === null || at > gate.use_by) return "on an expired approval";
  return null;
}
