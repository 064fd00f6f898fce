import type { PlanInput } from "../core/plan/plan-input.ts";
import type { ToolContext, ToolOf } from "../core/tool/tool.ts";
import type { Json, JsonObject } from "../core/values/json.ts";
import type { ReplannerDefinition } from "./define-replanner.ts";
import { defineTool } from "./define-tool.ts";

/** The question to a planner. */
export interface PlanRequest {
  /** The goal, as the caller of `planAndExecute` states it. */
  readonly goal: Json;
  /** The number of plans that are wanted. */
  readonly candidates: number;
}

/** A planner: a tool that proposes plans for a goal. It only reads, and its answer is on record. */
export interface PlannerDefinition extends Omit<ReplannerDefinition, "replan"> {
  /** Returns plans, the most promising first. They are checked and ranked before one runs. */
  readonly plan: (request: PlanRequest, call: ToolContext) => readonly PlanInput[] | Promise<readonly PlanInput[]>;
}

const request = {
  type: "object",
  properties: { goal: {}, candidates: { type: "integer", minimum: 1 } },
  required: ["goal", "candidates"],
  additionalProperties: false,
} as const;
const answer = {
  type: "object",
  properties: { plans: { type: "array" } },
  required: ["plans"],
  additionalProperties: false,
} as const;

/** Makes the tool that `planAndExecute` asks. */
export function definePlanner({ plan, ...definition }: PlannerDefinition): ToolOf<JsonObject, JsonObject> {
  return defineTool({
    ...definition,
    effect: "reads",
    input: request,
    output: answer,
    run: async (given: Json, call: ToolContext) =>
      ({ plans: await plan(given as unknown as PlanRequest, call) }) as unknown as Json,
  }) as unknown as ToolOf<JsonObject, JsonObject>;
}
