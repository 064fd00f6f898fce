import type { Event } from "../../src/core/event.ts";
import type { JsonObject } from "../../src/core/json/json.ts";
import { findStep, type Run, type Step } from "../../src/core/run.ts";
import type { Fact } from "../record.ts";

/** What may begin: nothing of a run that is over, too late or forbidden, nor without what it needs. Undoing always may. */
export function judgeStarts({ scene, kept, before, event }: Fact): void {
  if (event.type !== "step.started" && event.type !== "step.succeeded") return;
  const step = findStep(before, event.step_id) as Step;
  if (step.cause?.by === "undo") return;
  const changed = kept.ballots.wasEdited(event.step_id);
  const wrong = event.type === "step.started" ? wrongStart(before, step, event, changed) : wrongAssertion(step);
  if (wrong !== null) scene.violate(`${before.id} ${event.step_id}.${event.attempt} was started ${wrong}`);
}

type Started = Extract<Event, { type: "step.started" }>;

function wrongStart(run: Run, step: Step, { at, ledger, call }: Started, changed: boolean): string | null {
  if (run.cancel !== null) return "after the run was cancelled";
  if (run.stopped !== null) return "after its plan was ended";
  if (run.deadline_at !== null && at >= run.deadline_at) return "after the deadline";
  if (run.mode === "draft_only" && ledger !== null) return "though it acts and may not";
  if (step.spec.preconditions.some(isFalse)) return "though its precondition does not hold";
  return !changed && bindsWrong(run, step, call.input as JsonObject) ? "with something else than was bound" : null;
}

/** Every tool of the cast answers 1. */
function isFalse({ operator }: { readonly operator: string }): boolean {
  return operator === "lt" || operator === "gt";
}

function wrongAssertion({ spec }: Step): string | null {
  const claims = spec.kind === "assertion" && isFalse(spec.payload as { readonly operator: string });
  return claims ? "and held to be true, which it is not" : null;
}

/** Plans bind the text of a call to what another step answered. */
function bindsWrong(run: Run, { spec }: Step, { text }: JsonObject): boolean {
  const { "/text": binding } = spec.bindings;
  if (binding?.as !== "value") return false;
  const standing = findStep(run, binding.step)?.standing;
  return standing?.state === "succeeded" && (standing.output as JsonObject).id !== text;
}
