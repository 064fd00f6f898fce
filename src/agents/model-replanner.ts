import type { ReplanContext } from "../core/run/replan-context.ts";
import type { Tool, ToolOf } from "../core/tool/tool.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/values/json.ts";
import { defineReplanner, type ReplanAnswer, type ReplannerDefinition } from "../schema/define-replanner.ts";
import { type AskPlanningModel, askForJson } from "./ask-for-json.ts";
import { planningInstructions } from "./plan-prompt.ts";

export interface ModelPlannerOptions extends Omit<ReplannerDefinition, "replan" | "asks"> {
  /** Asks the model. */
  readonly ask: AskPlanningModel;
  /** The tools that its plans may call. The rights of the run apply as well. */
  readonly tools: readonly Tool[];
  /** More instructions to the model. */
  readonly instructions?: string;
}

const task = `The plan of a run did not complete. Answer with JSON only: another plan that reaches the goal from where the
run stands, or {"plan": null, "reason": "..."} if there is none. Do not plan again what has succeeded: bind its outputs
by its step_id. Do not repeat an act that is listed. A plan that is equal to one that failed is refused.`;

/** Makes a replanner that asks a model for the next plan. */
export function modelReplanner({
  ask,
  tools,
  instructions,
  ...definition
}: ModelPlannerOptions): ToolOf<JsonObject, JsonObject> {
  const system = planningInstructions(tools, task, instructions);
  return defineReplanner({
    ...definition,
    asks: "model",
    replan: async (context: ReplanContext, call) => {
      const answer = await askForJson(ask, { system, prompt: JSON.stringify(context) }, call);
      return toReplanAnswer(answer);
    },
  });
}

/** The engine checks the plan, so nothing is assumed about it. */
function toReplanAnswer(answer: Json): ReplanAnswer {
  const given = isJsonObject(answer) && "plan" in answer ? answer : { plan: answer };
  const reason = typeof given.reason === "string" ? { reason: given.reason } : {};
  return { plan: given.plan, ...reason } as unknown as ReplanAnswer;
}
