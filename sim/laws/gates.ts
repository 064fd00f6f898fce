import type { Event } from "../../src/core/event.ts";
import type { Gate, Run, Step } from "../../src/core/run.ts";
import type { Fact } from "../record.ts";
import { wrongTrust } from "./trust.ts";

type Started = Extract<Event, { type: "step.started" }>;

/** I7: what needs a person has exactly one, who may, in time, for exactly this call. */
export function judgeGates(fact: Fact): void {
  const { event } = fact;
  switch (event.type) {
    case "gate.approved":
    case "gate.amended":
    case "gate.endorsed":
    case "gate.rejected":
      decided(fact, event);
      break;
    case "step.started":
      passed(fact, event);
      break;
  }
}

type Decided = Extract<Event, { type: "gate.approved" | "gate.amended" | "gate.endorsed" | "gate.rejected" }>;

function decided({ scene, before }: Fact, event: Decided): void {
  const gate = before.gates.get(event.gate_id) as Gate;
  const { by, at } = event;
  if (gate.status !== "open") scene.violate(`I7: ${gate.gate_id} was decided though it is ${gate.status}`);
  if (by.kind !== "person") scene.violate(`I7: ${gate.gate_id} was decided by ${by.kind} ${by.id}`);
  if (by.id === before.principal.id) scene.violate(`I7: ${gate.gate_id} was decided by who asked for it`);
  if (by.tenant !== before.tenant)
    scene.violate(`I10: ${gate.gate_id} of ${before.tenant} was decided by ${by.tenant}`);
  if (at >= gate.expires_at) scene.violate(`I7: ${gate.gate_id} was decided after it expired`);
}

function passed(whole: Fact, event: Started): void {
  const { scene, kept, before } = whole;
  const step = before.steps.get(before.index.get(event.step_id) as number);
  const where = `${before.id} ${event.step_id}.${event.attempt}`;
  if (event.gate !== null) {
    const gate = before.gates.get(event.gate.gate_id);
    if (kept.consumed.has(event.gate.gate_id))
      scene.violate(`I7: ${where} consumed ${event.gate.gate_id} a second time`);
    if (gate?.status !== "approved") scene.violate(`I7: ${where} consumed a gate that is ${gate?.status}`);
    kept.consumed.set(event.gate.gate_id, event.step_id);
    scene.counts.gatesConsumed += 1;
  }
  if (!needsPerson(fact(scene, before), before, step, event)) return;
  const wrong = wrongYes(before, step, event);
  if (wrong === null) return;
  const untrusted = step.spec.gate === "human_confirm" ? wrong : wrongTrust(whole, step);
  if (untrusted !== null) scene.violate(`I7: ${where} was started ${wrong}, and ${untrusted}`);
}

const fact = (scene: Fact["scene"], { tenant }: Run) => scene.swarm.tenants.find(({ name }) => name === tenant);

function needsPerson(tenant: ReturnType<typeof fact>, run: Run, { spec, cause }: Step, { ledger }: Started): boolean {
  if (cause?.by === "undo") return false;
  if (spec.gate === "human_confirm") return true;
  return ledger !== null && run.mode === "human_gated" && tenant?.trust.includes(spec.name) !== true;
}

function wrongYes(run: Run, step: Step, { call, at, gate: consumes }: Started): string | null {
  const gate = step.gate === null ? undefined : run.gates.get(step.gate);
  if (gate === undefined) return "without a gate";
  if (gate.status !== "approved" && gate.status !== "consumed") return `on a gate that is ${gate.status}`;
  if (gate.status === "approved" && consumes?.gate_id !== gate.gate_id) return "without consuming its gate";
  if (gate.call.digest !== call.digest) return "with another call than was approved";
  if (gate.use_by === null || at > gate.use_by) return "on an approval that was too old";
  return null;
}
