export type { AskPlanningModel, PlanQuestion } from "./agents/ask-for-json.ts";
export type { DeclaredEffects, ToolTerms } from "./agents/declared-effects.ts";
export type { FrameworkTool } from "./agents/framework-tool.ts";
export { frameworkValue, type PendingOutput } from "./agents/framework-value.ts";
export { type GovernOptions, govern } from "./agents/govern.ts";
export type {
  CallDecision,
  FrameworkBeginOptions,
  FrameworkCall,
  FrameworkCallOptions,
  FrameworkHandler,
  Governed,
} from "./agents/governed.ts";
export { modelPlanner } from "./agents/model-planner.ts";
export { type ModelPlannerOptions, modelReplanner } from "./agents/model-replanner.ts";
export type { RecordedFetchOptions } from "./agents/recorded-fetch.ts";
