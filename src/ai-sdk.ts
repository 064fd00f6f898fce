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
export { type AiSdkAdapter, type ApprovalQuestion, type ApprovalStatus, forAiSdk } from "./ai-sdk/for-ai-sdk.ts";
