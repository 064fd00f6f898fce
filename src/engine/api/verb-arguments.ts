import type { Verb } from "../../core/approval/verb-rules.ts";
import { checkJson } from "../../core/json/check-json.ts";
import { planLimits } from "../../core/plan/plan.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { JsonObject } from "../../core/values/json.ts";
import { type EngineVerb, verbOptions } from "./verb-options.ts";

/** The names of the arguments before the options, for each verb that a policy can hold. */
const positional = {
  "resume:parked": ["run_id"],
  resolve: ["run_id", "step_id"],
  undo: ["run_id"],
  "checkpoints.restore": ["run_id", "step_id", "side"],
  "checkpoints.fork": ["run_id", "step_id", "side"],
  "projects.close": ["project"],
  "projects.open": ["project"],
  "schedules.set": ["schedule", "plan"],
  "schedules.pause": ["schedule"],
  "schedules.resume": ["schedule"],
  "schedules.remove": ["schedule"],
  "policies.set": ["document"],
  "policies.remove": ["name"],
  "halts.lift": [],
  retain: [],
  forget: [],
  backup: ["file"],
} as const satisfies Partial<Record<Verb, readonly string[]>>;

/** A verb that a policy can hold: the request becomes a run, and is executed once after its approval. */
export type HoldableVerb = keyof typeof positional;

export const holdableVerbs = Object.keys(positional) as readonly HoldableVerb[];

/** Returns whether a gate with this tool name holds a verb. No tool has the name of a verb. */
export function isHoldableVerb(name: string): name is HoldableVerb {
  return Object.hasOwn(positional, name);
}

/** Returns the names of the arguments before the options. */
export function positionalNames(verb: HoldableVerb): readonly string[] {
  return positional[verb];
}

/** Returns the names of all arguments of a verb, as rules and people see them. */
export function verbArgumentNames(verb: HoldableVerb): readonly string[] {
  return [...positional[verb], ...optionNames(verb).map(snakeCase)];
}

/** Returns the arguments and options of a verb as one JSON object, as rules and people see them. */
export function verbInput(verb: HoldableVerb, given: object, options: object): JsonObject {
  const named = optionNames(verb).map((name) => [snakeCase(name), (options as Record<string, unknown>)[name]]);
  const present = [...Object.entries(given), ...named].filter(([, value]) => value !== undefined);
  const checked = checkJson(Object.fromEntries(present), planLimits);
  if (checked.ok) return checked.value as JsonObject;
  const reasons = checked.reasons.map(({ path, message }) => `${path || "/"}: ${message}`);
  throw new FaultError(fault("INVALID_INPUT", `the arguments of ${verb} cannot be used: ${reasons.join("; ")}`));
}

/** Returns the options of a verb in its input. */
export function optionsInInput(verb: HoldableVerb, input: JsonObject): JsonObject {
  return Object.fromEntries(
    optionNames(verb).flatMap((name) => {
      const value = input[snakeCase(name)];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** The principal is not part of the input, because the run has it. */
function optionNames(verb: HoldableVerb): readonly string[] {
  const [method] = verb.split(":") as [EngineVerb];
  return Object.keys(verbOptions[method]).filter((name) => name !== "principal");
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
