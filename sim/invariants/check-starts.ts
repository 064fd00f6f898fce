import type { Event } from "../../src/core/event/event.ts";
import { findStep, type Run, type Step } from "../../src/core/run/run.ts";
import type { JsonObject } from "../../src/core/values/json.ts";
import type { ObservedEvent } from "../journal-observer.ts";

/**
 * A step starts only in a run that is not cancelled, stopped or past its deadline, and only with its preconditions and
 * bindings. An undo may always start.
 */
export function checkStarts({ sim, observedRun, before, event }: ObservedEvent): void {
  if (event.type !== "step.started" && event.type !== "step.succeeded") return;
  const step = findStep(before, event.step_id) as Step;
  if (step.cause?.by === "undo") return;
  const changed = observedRun.votes.wasEdited(event.step_id);
  const wrong = event.type === "step.started" ? startProblem(before, step, event, changed) : assertionProblem(step);
  if (wrong !== null) sim.violate(`${before.id} ${event.step_id}.${event.attempt} was started ${wrong}`);
}

type StartedEvent = Extract<Event, { type: "step.started" }>;

function startProblem(run: Run, step: Step, { at, ledger, call }: StartedEvent, changed: boolean): string | null {
  if (run.cancel !== null) return "after the run was cancelled";
  if (run.stopped !== null) return "after its plan was ended";
  if (run.deadline_at !== null && at >= run.deadline_at) return "after the deadline";
  if (run.mode === "draft_only" && ledger !== null) return "as an act in mode draft_only";
  if (step.spec.preconditions.some(isConditionFalse)) return "with a false precondition";
  return !changed && hasWrongBinding(run, step, call.input as JsonObject)
    ? "with an input other than its binding"
    : null;
}

/** Every simulated tool answers n = 1, so "lt" and "gt" are false. */
function isConditionFalse({ operator }: { readonly operator: string }): boolean {
  return operator === "lt" || operator === "gt";
}

function assertionProblem({ spec }: Step): string | null {
  const claims = spec.kind === "assertion" && isConditionFalse(spec.payload as { readonly operator: string });
  return claims ? "and a false assertion passed" : null;
}

/** Plans bind the text of a call to the id in another step's answer. */
function hasWrongBinding(run: Run, { spec }: Step, { text }: JsonObject): boolean {
  const { "/text": binding } = spec.bindings;
  if (binding?.as !== "value" || !("step" in binding)) return false;
  const standing = findStep(run, binding.step)?.standing;
  return standing?.state === "succeeded" && (standing.output as JsonObject).id !== text;
}
