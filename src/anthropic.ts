export type { CheckedFunction, ToolFunction, ToolFunctions } from "./agents/call-functions.ts";
export type { ToolTerms } from "./agents/declared-effects.ts";
export type { FrameworkTool } from "./agents/framework-tool.ts";
export type {
  CallDecision,
  FrameworkBeginOptions,
  FrameworkCall,
  FrameworkCallOptions,
  FrameworkHandler,
  Governed,
} from "./agents/governed.ts";
export type { RecordedFetchOptions } from "./agents/recorded-fetch.ts";
export {
  type AnthropicAdapter,
  type AnthropicResult,
  type AnthropicResults,
  forAnthropic,
} from "./anthropic/for-anthropic.ts";
