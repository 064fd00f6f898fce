import type { PlanInput } from "../core/plan/plan-input.ts";
import type { ToolOf } from "../core/tool/tool.ts";
import { isJsonObject, type JsonObject } from "../core/values/json.ts";
import { definePlanner } from "../schema/define-planner.ts";
import { askForJson } from "./ask-for-json.ts";
import type { ModelPlannerOptions } from "./model-replanner.ts";
import { planningInstructions } from "./plan-prompt.ts";

const task = `Answer with JSON only: {"plans": [...]}, at most as many plans as the request wants. Each plan reaches the goal by
itself, the most promising first. If one plan does not complete, the next one is tried.`;

/** Makes a planner for `planAndExecute` that asks a model for plans. */
export function modelPlanner({
  ask,
  tools,
  instructions,
  ...definition
}: ModelPlannerOptions): ToolOf<JsonObject, JsonObject> {
  const system = planningInstructions(tools, task, instructions);
  return definePlanner({
    ...definition,
    asks: "model",
    plan: async (request, call) => {
      const answer = await askForJson(ask, { system, prompt: JSON.stringify(request) }, call);
      const plans = isJsonObject(answer) && Array.isArray(answer.plans) ? answer.plans : [answer];
      return plans as unknown as readonly PlanInput[];
    },
  });
}
