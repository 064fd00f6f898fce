import type { CallName } from "../event/session.ts";
import { type Fault, fault } from "../values/fault.ts";
import { type Json, sameJson } from "../values/json.ts";
import type { Run } from "./run.ts";
import type { Step } from "./step.ts";

/**
 * A JSON list ends itself, so two different names never have the same key. `reuses` is the digest of a refused call whose
 * name belongs to another one.
 */
export function callKey({ id, turn }: CallName, reuses = ""): string {
  return JSON.stringify([turn ?? null, id]) + reuses;
}

/** Returns the refusal of a call whose name belongs to another call. */
export function reusedNameFault(
  { id }: CallName,
  { spec: { step_id, name } }: Pick<Step, "spec">,
  tool: string,
): Fault {
  const what = name === tool ? "another input" : `the tool ${name}`;
  const message = `call ${id} was made before with ${what} (step ${step_id}); give a new call a new id`;
  return fault("CALL_REUSED", message, { step_id });
}

/** Returns the step of the call that the agent gave this name, or undefined if the run has none. */
export function findCallStep(run: Run, name: CallName): Step | undefined {
  const index = run.calls.get(callKey(name));
  return index === undefined ? undefined : run.steps.get(index);
}

/** True if the step calls this tool with this input. The same name with another call is a mistake of the agent. */
export function isSameCall({ spec }: Pick<Step, "spec">, tool: string, input: Json): boolean {
  return spec.name === tool && sameJson(spec.payload, input);
}
