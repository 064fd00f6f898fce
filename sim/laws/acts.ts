import type { Event } from "../../src/core/event.ts";
import type { EffectKey } from "../../src/core/id.ts";
import type { JsonObject } from "../../src/core/json/json.ts";
import { stateTools } from "../../src/core/plan/plan-roster.ts";
import { findStep, type Run, type Step } from "../../src/core/run.ts";
import { downstreamKey } from "../../src/engine/digest.ts";
import { cast, MUTE } from "../cast.ts";
import type { Fact } from "../record.ts";

/** Whose answers do not say whom they belong to. */
const silent: readonly string[] = [MUTE, stateTools.state_read, stateTools.state_write];

/** I1, I2: what the record says of an act is what happened in the world. */
export function judgeActs(fact: Fact): void {
  const { event } = fact;
  switch (event.type) {
    case "step.started":
      started(fact, event);
      break;
    case "step.succeeded":
      succeeded(fact, event);
      break;
    case "step.failed":
      failed(fact, event);
      break;
    case "step.doubted":
      fact.scene.counts.doubts += 1;
      break;
    case "step.settled":
      settled(fact, event);
      break;
    case "step.compensated":
      compensated(fact, event);
      break;
    case "evidence.kept":
      evidence(fact, event);
      break;
  }
}

type Of<Type extends Event["type"]> = Extract<Event, { type: Type }>;

function stepOf(run: Run, { step_id }: { step_id: Step["spec"]["step_id"] }): Step {
  return findStep(run, step_id) as Step;
}

function keyOf({ call, act }: Step): EffectKey {
  return downstreamKey(call?.key as EffectKey, act?.generation ?? 1);
}

/** A new generation is opened only by a person who was shown the one before. */
function started({ scene, before, after }: Fact, event: Of<"step.started">): void {
  const { ledger } = event;
  if (ledger === null) return;
  const { generations } = scene.record;
  const key = event.call.key as EffectKey;
  if (ledger.generation <= (generations.get(key) ?? 1)) return;
  generations.set(key, ledger.generation);
  const step = stepOf(after, event);
  const gate = event.gate === null ? undefined : before.gates.get(event.gate.gate_id);
  if (gate?.duplicate_of?.generation !== ledger.generation - 1) {
    scene.violate(`I1: ${before.id} ${event.step_id} opened generation ${ledger.generation} though nobody said: again`);
    return;
  }
  scene.counts.again += 1;
  const tool = cast.find(({ name }) => name === step.spec.name);
  if (tool !== undefined)
    scene.world.allowAgain(scene.record.factOf(tool, event.call.input, { run_id: before.id, step_id: event.step_id }));
}

function succeeded(fact: Fact, event: Of<"step.succeeded">): void {
  const { scene, before, after } = fact;
  const step = stepOf(after, event);
  const where = `${before.id} ${event.step_id}.${event.attempt}`;
  const tenant = (event.output as JsonObject | null)?.tenant;
  const answers = step.spec.kind === "operator" && step.cause?.by !== "undo" && !silent.includes(step.spec.name);
  if (answers && tenant !== before.tenant)
    scene.violate(`I10: ${where} of ${before.tenant} was answered with what belongs to ${String(tenant)}`);
  if (event.reused !== undefined) reused(fact, event, step);
  if (event.ledger === undefined) return;
  happened(fact, step, where);
  if (stepOf(before, event).standing.state === "in_doubt") scene.counts.lateValues += 1;
}

/** Handed out from the record: the act it stands for is the same one, and has happened. */
function reused({ scene, before }: Fact, event: Of<"step.succeeded">, step: Step): void {
  scene.counts.reuses += 1;
  if (event.world !== "side_effect_committed" || event.reused === undefined) return;
  const { run, step: owner } = event.reused;
  const origin = scene.record.get(run);
  const source = origin && findStep(origin.run, owner);
  const where = `${before.id} ${event.step_id}`;
  // A fork has what the run had that it comes from, and that may have it from another.
  if (run === before.forked?.run_id && source?.act === null) return;
  if (origin === undefined || source?.act == null) {
    scene.violate(`I2: ${where} reuses ${run} ${owner}, which did not act`);
    return;
  }
  if (origin.tenant !== before.tenant) scene.violate(`I10: ${where} reuses what belongs to ${origin.tenant}`);
  if (source.spec.name !== step.spec.name) scene.violate(`I2: ${where} reuses an act of ${source.spec.name}`);
  const happened = scene.world.effect((event.output as JsonObject | null)?.id as EffectKey) !== undefined;
  if (step.spec.name !== MUTE && !happened) scene.violate(`I2: ${where} reuses what never happened`);
}

/** Said to be done: then it was done, once. */
function happened({ scene }: Fact, step: Step, where: string): void {
  const { world } = scene;
  const key = keyOf(step);
  const effect = step.cause?.by === "undo" ? world.undoing(key) : world.effect(key);
  const unneeded = step.cause?.by === "undo" && effect === undefined;
  if (unneeded) return;
  if (effect?.times !== 1)
    scene.violate(`I2: ${where} (${step.spec.name}) is on record as done, and happened ${effect?.times ?? 0} times`);
}

function failed(fact: Fact, event: Of<"step.failed">): void {
  const { before, after } = fact;
  if (event.ledger === undefined) return;
  const step = stepOf(after, event);
  const where = `${before.id} ${event.step_id}.${event.attempt}`;
  if (event.output !== undefined) happened(fact, step, where);
  else absent(fact, step, where, "the tool said that it was not done");
}

/** Said not to have happened: then it did not, and will not. */
function absent({ scene }: Fact, step: Step, where: string, why: string): void {
  const { world } = scene;
  const key = keyOf(step);
  const undo = step.cause?.by === "undo";
  const done = undo ? (world.undoing(key)?.times ?? 0) > 0 : world.stands(key);
  if (done) scene.violate(`I2: ${where} (${step.spec.name}) is on record as not done (${why}), and it happened`);
  else if (world.mayStillLand(key))
    scene.violate(`I2: ${where} (${step.spec.name}) is on record as not done (${why}), and is still under way`);
}

function settled(fact: Fact, event: Of<"step.settled">): void {
  const { scene, before, after } = fact;
  const { counts } = scene;
  const step = stepOf(after, event);
  const where = `${before.id} ${event.step_id}`;
  const engine = event.by === "verifier" || event.by === "marker" || event.by === "declaration";
  if (!engine) counts.personSettles += 1;
  switch (event.settled.as) {
    case "happened":
      if (engine) counts.sightings += 1;
      happened(fact, step, where);
      break;
    case "not_done":
      counts.markerProofs += 1;
      if (scene.world.dispatched(before.id, event.step_id, step.act?.attempt ?? 0) !== undefined)
        scene.violate(`I2: ${where} was never called, says its marker; but it was`);
      break;
    case "absent":
      if (engine) counts.absences += 1;
      absent(fact, step, where, event.reason);
      break;
    case "resend":
      counts.resends += 1;
      break;
  }
}

/** A late value is only evidence where the doubt about its own attempt is settled. */
function evidence({ scene, before }: Fact, event: Of<"evidence.kept">): void {
  const { standing, act } = stepOf(before, event);
  if (standing.state === "in_doubt" && act?.attempt === event.attempt)
    scene.violate(`${before.id} ${event.step_id}.${event.attempt} is in doubt, and its answer was put aside`);
}

/** Said to be undone: then it does not stand, and nothing can make it stand again. */
function compensated({ scene, before, after }: Fact, event: Of<"step.compensated">): void {
  scene.counts.undos += 1;
  const step = stepOf(after, event);
  const key = keyOf(step);
  const where = `${before.id} ${event.step_id} (${step.spec.name})`;
  if (scene.world.stands(key)) scene.violate(`I2: ${where} is on record as undone, and stands`);
  else if (scene.world.mayStillLand(key)) scene.violate(`I2: ${where} is on record as undone, and is still under way`);
}
