export { callValue, type PendingOutput } from "./agents/call-value.ts";
export type { DeclaredEffects, ToolTerms } from "./agents/declared-effects.ts";
export type { FrameworkTool } from "./agents/framework-tool.ts";
export { type GovernOptions, govern } from "./agents/govern.ts";
export type {
  CallDecision,
  FrameworkBeginOptions,
  FrameworkCall,
  FrameworkCallOptions,
  FrameworkHandler,
  Governed,
} from "./agents/governed.ts";
export type { RecordedFetchOptions } from "./agents/recorded-fetch.ts";
