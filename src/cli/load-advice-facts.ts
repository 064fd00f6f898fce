import { addedSteps } from "../core/event/added-steps.ts";
import type { Event } from "../core/event/event.ts";
import type { RunResult } from "../core/run/run-result.ts";
import type { RunHandle } from "../engine/api/engine-api.ts";

/** The facts from the journal that the advice about a run needs beside its result. */
export interface AdviceFacts {
  /** The id of the principal that submitted the run, or null if it was not read. */
  readonly requester: string | null;
  readonly steps: ReadonlyMap<string, StepFacts>;
}

interface StepFacts {
  readonly tool: string;
  /** True if the step undoes another. */
  readonly undoes: boolean;
  /** True if its tool had a verifier when the step fell into doubt. */
  readonly verifies: boolean;
}

/** Reads only as much of the journal as the advice about this result needs. */
export async function loadAdviceFacts(handle: RunHandle, result: RunResult): Promise<AdviceFacts> {
  const needsSteps = Object.values(result.steps).some(({ state }) => state === "in_doubt" || state === "failed_final");
  if (!needsSteps && result.gates.length === 0) return { requester: null, steps: new Map() };
  const steps = new Map<string, StepFacts>();
  let requester: string | null = null;
  for await (const { event } of handle.events()) {
    if (event.type === "run.accepted") requester = event.principal.id;
    addStepFacts(steps, event);
    if (!needsSteps) break;
  }
  return { requester, steps };
}

function addStepFacts(steps: Map<string, StepFacts>, event: Event): void {
  const undoes = event.type === "step.proposed" && event.cause.by === "undo";
  for (const { step_id, name } of addedSteps(event)) steps.set(step_id, { tool: name, undoes, verifies: false });
  const known = event.type === "step.doubted" ? steps.get(event.step_id) : undefined;
  if (event.type === "step.doubted" && known !== undefined)
    steps.set(event.step_id, { ...known, verifies: event.exits.verify });
}
