export { type Fault, type FaultCode, FaultError, faults, notDone } from "./core/fault.ts";
export type { Guard, Verdict } from "./core/guard.ts";
export type { Access, Capture, Closing, Resource, ResourceChange, RestoreReport } from "./core/resource.ts";
export type { Blocked, FailedStep, OpenGate, ResultOutcome, RunResult, StepResult } from "./core/result.ts";
export type { Store } from "./core/store.ts";
export type { Probe, Sighting, Tool, ToolContext } from "./core/tool.ts";
export type { Engine, EngineOptions, RunHandle, SubmitOptions } from "./engine/api.ts";
export { createEngine } from "./engine/engine.ts";
export { defineTool, type ToolDefinition } from "./schema/define-tool.ts";
