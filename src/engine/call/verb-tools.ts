import { verbRules } from "../../core/approval/verb-rules.ts";
import { nearestName } from "../../core/json/nearest-name.ts";
import type { Run } from "../../core/run/run.ts";
import { makeBuiltInTool } from "../../core/tool/make-built-in-tool.ts";
import type { Tool } from "../../core/tool/tool.ts";
import { toolDefaults } from "../../core/tool/tool-defaults.ts";
import { assert } from "../../core/values/assert.ts";
import type { Json, JsonObject } from "../../core/values/json.ts";
import { type HoldableVerb, holdableVerbs, verbArgumentNames } from "../api/verb-arguments.ts";
import { builtInToolSchema } from "../ports/built-in-tool-schema.ts";

/** Executes held requests after their approval. */
export interface VerbPort {
  /** Executes the request of a run. A second execution of the same request changes nothing. */
  execute(run: Run, verb: HoldableVerb, input: JsonObject): Promise<Json>;
  /** Returns the arguments of a request that is approved with others. Throws if a request with them cannot be made. */
  readEdit(run: Run, verb: HoldableVerb, input: JsonObject): Promise<JsonObject>;
}

/** Returns the declarations of the verbs that a policy can hold, as tools. No plan can name them. */
export function makeVerbTools(): readonly Tool[] {
  return holdableVerbs.map((verb) =>
    makeBuiltInTool({
      name: verb,
      effect: "writes",
      description: `A held request to ${verbRules[verb].about}.`,
      input: builtInToolSchema({ verb }, (input) => argumentProblem(verb, input)),
      output: builtInToolSchema({}, () => null),
      timeoutMs: toolDefaults.verbTimeoutMs,
      stateReads: [],
      stateWrites: [],
      run: async () => assert(false, "a verb is executed by its engine"),
    }),
  );
}

/** A person may approve a request with other arguments. */
function argumentProblem(verb: HoldableVerb, input: JsonObject): string | null {
  const known = verbArgumentNames(verb);
  const unknown = Object.keys(input).find((name) => !known.includes(name));
  if (unknown === undefined) return null;
  const meant = nearestName(unknown, known);
  return `${verb} has no argument ${unknown}; ${meant === null ? `there are ${known.join(", ")}` : `did you mean ${meant}?`}`;
}
