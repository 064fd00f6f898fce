import type { CallName } from "../event/session.ts";
import { type Json, sameJson } from "../values/json.ts";
import type { Run } from "./run.ts";
import type { Step } from "./step.ts";

/** A JSON list ends itself, so two different names never have the same key. */
export function callKey({ id, turn }: CallName): string {
  return JSON.stringify([turn ?? null, id]);
}

/** Returns the step of the call that the agent gave this name, or undefined if the run has none. */
export function findCallStep(run: Run, name: CallName): Step | undefined {
  const index = run.calls.get(callKey(name));
  return index === undefined ? undefined : run.steps.get(index);
}

/** True if the step calls this tool with this input. The same name with another call is a mistake of the agent. */
export function isSameCall({ spec }: Step, tool: string, input: Json): boolean {
  return spec.name === tool && sameJson(spec.payload, input);
}
