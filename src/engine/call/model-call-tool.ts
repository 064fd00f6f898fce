import { makeBuiltInTool } from "../../core/tool/make-built-in-tool.ts";
import type { Tool } from "../../core/tool/tool.ts";
import { toolDefaults } from "../../core/tool/tool-defaults.ts";
import { assert } from "../../core/values/assert.ts";
import { builtInToolSchema } from "../ports/built-in-tool-schema.ts";

/** The name by which policies, budgets and capabilities know model calls. */
export const MODEL_TOOL = "writ.model";

/** Returns the declaration of model calls as a tool. No plan and no agent can name it: the caller supplies the function that asks the model. */
export function makeModelCallTool(): Tool {
  return makeBuiltInTool({
    name: MODEL_TOOL,
    effect: "reads",
    description: "Asks a model in an open run.",
    input: builtInToolSchema({ model: "request" }, () => null),
    output: builtInToolSchema({ model: "answer" }, () => null),
    asks: "model",
    tries: 1,
    timeoutMs: toolDefaults.modelTimeoutMs,
    stateReads: [],
    stateWrites: [],
    run: async () => assert(false, "a model is asked by the function of its caller"),
  });
}
