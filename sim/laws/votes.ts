import type { Event } from "../../src/core/event.ts";
import { findStep, type Gate, type Run, type Step } from "../../src/core/run.ts";
import { type Ballot, isAsked, suffices } from "../ballots.ts";
import type { Fact } from "../record.ts";
import { type Asking, FORBIDDEN } from "../rules.ts";
import type { Scene } from "../scene.ts";

type Of<Type extends Event["type"]> = Extract<Event, { type: Type }>;

/** I23: as many different people say yes as are asked for, those who are, to exactly what runs; and what may not be said is not. */
export function judgeVotes(fact: Fact): void {
  const { event } = fact;
  switch (event.type) {
    case "gate.opened":
      opened(fact, event);
      break;
    case "gate.endorsed":
    case "gate.approved":
      said(fact, event);
      break;
    case "gate.amended":
      changed(fact, event);
      break;
    case "gate.escalated":
      told(fact, event);
      break;
    case "gate.contested":
      refused(fact, event);
      break;
    case "step.started":
      started(fact, event);
      break;
    case "step.succeeded":
      succeeded(fact, event);
      break;
  }
}

/** Whose yes a step takes by the rules; null: nobody's in particular. */
function askingOf({ rules }: Scene, { spec, cause }: Step): Asking | null {
  return cause?.by === "undo" ? null : (rules?.asking.get(spec.name) ?? null);
}

function askerOf({ principal }: Run, { cause }: Step): string {
  return cause?.by === "undo" ? cause.asked_by : principal.id;
}

function stepOf(run: Run, { step_id }: { readonly step_id: Step["spec"]["step_id"] }): Step {
  return findStep(run, step_id) as Step;
}

/** What was said of this very call before stands, and nothing else does. */
function opened({ scene, kept, before }: Fact, event: Of<"gate.opened">): void {
  const ballot = kept.ballots.open(event);
  for (const vote of event.votes ?? [])
    if (!kept.ballots.wasSaid(vote, ballot, event.gate_id))
      scene.violate(
        `I23: ${event.gate_id} of ${before.id} begins with a yes of ${vote.by} that nobody said to that call`,
      );
  if (event.stale !== undefined) scene.counts.staleGates += 1;
}

function said({ scene, kept, before }: Fact, event: Of<"gate.endorsed" | "gate.approved">): void {
  const { gate_id, by, at } = event;
  const ballot = kept.ballots.get(gate_id);
  const gate = before.gates.get(gate_id);
  if (ballot === undefined || gate === undefined) return;
  const step = stepOf(before, gate);
  const [asking, asker] = [askingOf(scene, step), askerOf(before, step)];
  const where = `${gate_id} of ${before.id} (${step.spec.name})`;
  if (!isAsked(asking, ballot.opened, asker, { by: by.id, roles: by.roles ?? [], at }))
    scene.violate(`I23: ${where} counts the yes of ${by.id}, who is not asked`);
  kept.ballots.say(gate_id, by, at);
  const enough = suffices(asking, kept.ballots.get(gate_id) as Ballot, asker);
  if (event.type === "gate.approved" && !enough) scene.violate(`I23: ${where} was approved by too few`);
  if (event.type === "gate.endorsed" && enough) scene.violate(`I23: ${where} asks for more than is asked for`);
  if (event.type === "gate.endorsed") scene.counts.endorsed += 1;
}

function changed({ scene, kept, before }: Fact, { gate_id, by, at, call }: Of<"gate.amended">): void {
  const ballot = kept.ballots.get(gate_id);
  const gate = before.gates.get(gate_id);
  if (ballot === undefined || gate === undefined) return;
  const step = stepOf(before, gate);
  scene.counts.amended += 1;
  if (!isAsked(askingOf(scene, step), ballot.opened, askerOf(before, step), { by: by.id, roles: by.roles ?? [], at }))
    scene.violate(`I23: ${gate_id} of ${before.id} was changed by ${by.id}, who is not asked`);
  kept.ballots.edit(gate_id, by, at, call.digest);
}

/** Others are told when it is their turn, and not before. */
function told({ scene, kept, before }: Fact, { gate_id, at }: Of<"gate.escalated">): void {
  scene.counts.escalated += 1;
  const gate = before.gates.get(gate_id) as Gate;
  const later = askingOf(scene, stepOf(before, gate))?.later ?? null;
  const opened = kept.ballots.get(gate_id)?.opened ?? 0;
  if (later === null || at < opened + later.ms)
    scene.violate(`I23: ${gate_id} of ${before.id} was passed on, and it is not time to`);
}

/** Nobody is turned away whose yes is asked for. */
function refused({ scene, kept, before }: Fact, { gate_id, by, at, fault }: Of<"gate.contested">): void {
  const gate = before.gates.get(gate_id);
  const ballot = kept.ballots.get(gate_id);
  if (fault.code !== "AUTH_FORBIDDEN" || gate === undefined || ballot === undefined || by.kind !== "person") return;
  const step = stepOf(before, gate);
  scene.counts.unasked += 1;
  if (isAsked(askingOf(scene, step), ballot.opened, askerOf(before, step), { by: by.id, roles: by.roles ?? [], at }))
    scene.violate(`I23: ${by.id} was turned away at ${gate_id} of ${before.id}, and is asked`);
}

function started(fact: Fact, event: Of<"step.started">): void {
  const { scene, before } = fact;
  const step = stepOf(before, event);
  if (scene.rules === null || step.cause?.by === "undo") return;
  const where = `${before.id} ${event.step_id} (${step.spec.name})`;
  const { text } = event.call.input as { readonly text?: unknown };
  if (text === FORBIDDEN && scene.rules.worded.includes(step.spec.name))
    scene.violate(`I23: ${where} was started with what may not be said`);
  const wrong = wrongYes(fact, step);
  if (wrong !== null) scene.violate(`I23: ${where} was started ${wrong}`);
}

/** What writes nothing before it runs, and what a stranger is handed, takes the same yes. Forks of one run share what was done. */
function succeeded(fact: Fact, event: Of<"step.succeeded">): void {
  const { scene, before } = fact;
  const isShared = event.reused != null && scene.record.get(event.reused.run)?.run.origin === before.origin;
  if (scene.rules === null || isShared) return;
  const step = stepOf(before, event);
  const wrong = step.cause?.by === "undo" ? null : wrongYes(fact, step);
  if (wrong !== null) scene.violate(`I23: ${before.id} ${event.step_id} (${step.spec.name}) came to its end ${wrong}`);
}

function wrongYes({ scene, kept, before }: Fact, step: Step): string | null {
  const asking = askingOf(scene, step);
  if (asking === null) return null;
  const ballot = step.gate === null ? undefined : kept.ballots.get(step.gate);
  if (ballot === undefined) return "and nobody was asked";
  return suffices(asking, ballot, askerOf(before, step)) ? null : "with the yes of too few";
}
