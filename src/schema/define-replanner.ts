import type { CostEstimate } from "../core/limits/budget.ts";
import type { PlanInput } from "../core/plan/plan-input.ts";
import type { ReplanContext } from "../core/run/replan-context.ts";
import type { ToolContext, ToolOf } from "../core/tool/tool.ts";
import type { Json, JsonObject } from "../core/values/json.ts";
import { defineTool, type ToolDefinition } from "./define-tool.ts";

/** A replanner: a tool that is asked for another plan when the plan of a run does not complete. It only reads. */
export interface ReplannerDefinition
  extends Pick<
    ToolDefinition<JsonObject, JsonObject>,
    "name" | "version" | "description" | "tags" | "roles" | "timeoutMs" | "asks" | "stateReads"
  > {
  /** The estimated cost of a question. */
  readonly cost?: CostEstimate;
  /** Returns another plan, or null if there is none: then the run ends. */
  readonly replan: (context: ReplanContext, call: ToolContext) => ReplanAnswer | Promise<ReplanAnswer>;
}

/** The answer of a replanner. The engine checks the plan before it runs. `reason` is recorded with it. */
export type ReplanAnswer = PlanInput | { readonly plan: PlanInput | null; readonly reason?: string } | null;

const anyObject = { type: "object" } as const;
const answer = {
  type: "object",
  properties: { plan: {}, reason: { type: "string" } },
  required: ["plan"],
  additionalProperties: false,
} as const;

/** Makes the tool that `replan.by` of a submission names. */
export function defineReplanner({ replan, ...definition }: ReplannerDefinition): ToolOf<JsonObject, JsonObject> {
  return defineTool({
    ...definition,
    effect: "reads",
    input: anyObject,
    output: answer,
    run: async (context: Json, call: ToolContext) =>
      toAnswer(await replan(context as unknown as ReplanContext, call)) as Json,
  }) as ToolOf<JsonObject, JsonObject>;
}

function toAnswer(given: ReplanAnswer): unknown {
  if (given === null || given === undefined) return { plan: null };
  return typeof given === "object" && "plan" in given ? given : { plan: given };
}
