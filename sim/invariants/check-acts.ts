import type { Event } from "../../src/core/event/event.ts";
import { stateTools } from "../../src/core/plan/plan-context.ts";
import { findStep, type Run, type Step } from "../../src/core/run/run.ts";
import type { EffectKey } from "../../src/core/values/ids.ts";
import type { JsonObject } from "../../src/core/values/json.ts";
import { downstreamKey } from "../../src/engine/ports/digest.ts";
import type { ObservedEvent } from "../journal-observer.ts";
import { SILENT_TOOL, simTools } from "../sim-tools.ts";

/** Tools whose answers do not name a tenant. */
const toolsWithoutTenant: readonly string[] = [SILENT_TOOL, stateTools.state_read, stateTools.state_write];

/** I1, I2: the journal agrees with the world about every act. */
export function checkActs(observedEvent: ObservedEvent): void {
  const { event } = observedEvent;
  switch (event.type) {
    case "step.started":
      checkStarted(observedEvent, event);
      break;
    case "step.succeeded":
      checkSucceeded(observedEvent, event);
      break;
    case "step.failed":
      checkFailed(observedEvent, event);
      break;
    case "step.doubted":
      observedEvent.sim.counts.doubts += 1;
      break;
    case "step.settled":
      checkSettled(observedEvent, event);
      break;
    case "step.compensated":
      checkCompensated(observedEvent, event);
      break;
    case "evidence.kept":
      checkEvidence(observedEvent, event);
      break;
  }
}

type EventOf<Type extends Event["type"]> = Extract<Event, { type: Type }>;

function stepOf(run: Run, { step_id }: { step_id: Step["spec"]["step_id"] }): Step {
  return findStep(run, step_id) as Step;
}

function downstreamKeyOf({ call, act }: Step): EffectKey {
  return downstreamKey(call?.key as EffectKey, act?.generation ?? 1);
}

/** A new generation starts only after a person approved the repetition of the previous one. */
function checkStarted({ sim, before, after }: ObservedEvent, event: EventOf<"step.started">): void {
  const { ledger } = event;
  if (ledger === null) return;
  const { generations } = sim.observer;
  const key = event.call.key as EffectKey;
  if (ledger.generation <= (generations.get(key) ?? 1)) return;
  generations.set(key, ledger.generation);
  const step = stepOf(after, event);
  const gate = event.gate === null ? undefined : before.gates.get(event.gate.gate_id);
  if (gate?.duplicate_of?.generation !== ledger.generation - 1) {
    sim.violate(
      `I1: ${before.id} ${event.step_id} opened generation ${ledger.generation} without an approved repetition`,
    );
    return;
  }
  sim.counts.again += 1;
  const tool = simTools.find(({ name }) => name === step.spec.name);
  if (tool !== undefined)
    sim.world.allowAgain(
      sim.observer.effectName(tool, event.call.input, { run_id: before.id, step_id: event.step_id }),
    );
}

function checkSucceeded(observedEvent: ObservedEvent, event: EventOf<"step.succeeded">): void {
  const { sim, before, after } = observedEvent;
  const step = stepOf(after, event);
  const where = `${before.id} ${event.step_id}.${event.attempt}`;
  const tenant = (event.output as JsonObject | null)?.tenant;
  const answers =
    step.spec.kind === "operator" && step.cause?.by !== "undo" && !toolsWithoutTenant.includes(step.spec.name);
  if (answers && tenant !== before.tenant)
    sim.violate(`I10: ${where} of ${before.tenant} received an answer of ${String(tenant)}`);
  if (event.reused !== undefined) checkReused(observedEvent, event, step);
  if (event.ledger === undefined) return;
  checkHappened(observedEvent, step, where);
  if (stepOf(before, event).standing.state === "in_doubt") sim.counts.lateValues += 1;
}

/** A reused result belongs to the same act, and that act happened. */
function checkReused({ sim, before }: ObservedEvent, event: EventOf<"step.succeeded">, step: Step): void {
  sim.counts.reuses += 1;
  if (event.world !== "side_effect_committed" || event.reused === undefined) return;
  const { run, step: owner } = event.reused;
  const origin = sim.observer.get(run);
  const source = origin && findStep(origin.run, owner);
  const where = `${before.id} ${event.step_id}`;
  // A fork has the results of the run it was forked from, which may have reused them too.
  if (run === before.forked?.run_id && source?.act === null) return;
  if (origin === undefined || source?.act == null) {
    sim.violate(`I2: ${where} reuses ${run} ${owner}, which is not an act`);
    return;
  }
  if (origin.tenant !== before.tenant) sim.violate(`I10: ${where} reuses a result of ${origin.tenant}`);
  if (source.spec.name !== step.spec.name) sim.violate(`I2: ${where} reuses an act of ${source.spec.name}`);
  const happened = sim.world.findEffect((event.output as JsonObject | null)?.id as EffectKey) !== undefined;
  if (step.spec.name !== SILENT_TOOL && !happened) sim.violate(`I2: ${where} reuses an act that never happened`);
}

/** An act that is recorded as done happened exactly once. */
function checkHappened({ sim }: ObservedEvent, step: Step, where: string): void {
  const { world } = sim;
  const key = downstreamKeyOf(step);
  const effect = step.cause?.by === "undo" ? world.findUndo(key) : world.findEffect(key);
  const unneeded = step.cause?.by === "undo" && effect === undefined;
  if (unneeded) return;
  if (effect?.times !== 1)
    sim.violate(`I2: ${where} (${step.spec.name}) is recorded as done, but happened ${effect?.times ?? 0} times`);
}

function checkFailed(observedEvent: ObservedEvent, event: EventOf<"step.failed">): void {
  const { before, after } = observedEvent;
  if (event.ledger === undefined) return;
  const step = stepOf(after, event);
  const where = `${before.id} ${event.step_id}.${event.attempt}`;
  if (event.output !== undefined) checkHappened(observedEvent, step, where);
  else checkAbsent(observedEvent, step, where, "the tool reported it as not done");
}

/** An act that is recorded as not done did not happen and can no longer land. */
function checkAbsent({ sim }: ObservedEvent, step: Step, where: string, why: string): void {
  const { world } = sim;
  const key = downstreamKeyOf(step);
  const undo = step.cause?.by === "undo";
  const done = undo ? (world.findUndo(key)?.times ?? 0) > 0 : world.isInEffect(key);
  if (done) sim.violate(`I2: ${where} (${step.spec.name}) is recorded as not done (${why}), but happened`);
  else if (world.mayStillLand(key))
    sim.violate(`I2: ${where} (${step.spec.name}) is recorded as not done (${why}), but may still land`);
}

function checkSettled(observedEvent: ObservedEvent, event: EventOf<"step.settled">): void {
  const { sim, before, after } = observedEvent;
  const { counts } = sim;
  const step = stepOf(after, event);
  const where = `${before.id} ${event.step_id}`;
  const engine = event.by === "verifier" || event.by === "marker" || event.by === "declaration";
  if (!engine) counts.personSettles += 1;
  switch (event.settled.as) {
    case "happened":
      if (engine) counts.sightings += 1;
      checkHappened(observedEvent, step, where);
      break;
    case "not_done":
      counts.markerProofs += 1;
      if (sim.world.findRequest(before.id, event.step_id, step.act?.attempt ?? 0) !== undefined)
        sim.violate(`I2: ${where} was called, but settled as never called by its marker`);
      break;
    case "absent":
      if (engine) counts.absences += 1;
      checkAbsent(observedEvent, step, where, event.reason);
      break;
    case "resend":
      counts.resends += 1;
      break;
  }
}

/** A late value is stored as mere evidence only if the doubt about its attempt is settled. */
function checkEvidence({ sim, before }: ObservedEvent, event: EventOf<"evidence.kept">): void {
  const { standing, act } = stepOf(before, event);
  if (standing.state === "in_doubt" && act?.attempt === event.attempt)
    sim.violate(
      `${before.id} ${event.step_id}.${event.attempt} is in doubt, but its answer was stored as evidence only`,
    );
}

/** An act that is recorded as undone is not in effect and can no longer land. */
function checkCompensated({ sim, before, after }: ObservedEvent, event: EventOf<"step.compensated">): void {
  sim.counts.undos += 1;
  const step = stepOf(after, event);
  const key = downstreamKeyOf(step);
  const where = `${before.id} ${event.step_id} (${step.spec.name})`;
  if (sim.world.isInEffect(key)) sim.violate(`I2: ${where} is recorded as undone, but is in effect`);
  else if (sim.world.mayStillLand(key)) sim.violate(`I2: ${where} is recorded as undone, but may still land`);
}
