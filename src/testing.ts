export type { HoldVerdict } from "./core/call/guard.ts";
export type { ReuseTerms } from "./core/call/proposal.ts";
export type { ActSighting } from "./core/decide/act-finding.ts";
export type { AllowedVerb } from "./core/decide/allowed-verb.ts";
export type {
  CallEdit,
  Command,
  FollowUpStep,
  Grant,
  InheritedStep,
  ProposedCall,
  RecoveryFinding,
  Resolution,
  StateFact,
  TakeoverClaim,
  WorkerRules,
} from "./core/decide/command.ts";
export type { Decision } from "./core/decide/decide.ts";
export type { HandlerResult } from "./core/decide/handler-result.ts";
export type { HeldRequest } from "./core/decide/held-request.ts";
export type { MissingFact } from "./core/decide/partial-decision.ts";
export type { RefusedDecisionTerms } from "./core/decide/refused-decision-terms.ts";
export type { ReplanFact } from "./core/decide/replan-run.ts";
export type { EventType } from "./core/event/event.ts";
export type { OutputBlobs } from "./core/event/output-blobs.ts";
export type { HaltFact } from "./core/settings/halt.ts";
export { type AdapterCheck, adapterContract } from "./testing/adapter-contract/adapter-contract.ts";
export type {
  AdapterProgram,
  AdapterSetting,
  AdapterTrait,
  AdapterUnderTest,
  ApprovalResponse,
  ContractTool,
  ProgramAnswer,
} from "./testing/adapter-contract/adapter-under-test.ts";
export { type PlayedCall, playScript } from "./testing/adapter-contract/play-script.ts";
export type { CrashTestCall } from "./testing/crashtest/call-process.ts";
export type { CrashVerdict, CrashWindow, RecordedOutcome } from "./testing/crashtest/crash-window.ts";
export { type CrashTestOptions, runCrashTest } from "./testing/crashtest/run-crash-test.ts";
export {
  type CrashTestCallOptions,
  type CrashTestReport,
  runCrashTestCall,
} from "./testing/crashtest/run-crash-test-call.ts";
export type { CrashWindowResult } from "./testing/crashtest/run-crash-window.ts";
export { type FakeClock, fakeClock } from "./testing/fake-clock.ts";
export { type CommandFrom, type GivenAction, type GivenRun, given, pass, type RowMap } from "./testing/given/given.ts";
export { type ManualTimers, manualTimers } from "./testing/manual-timers.ts";
export type { ModelScript, ScriptedAnswer, ScriptedCall } from "./testing/scripted-model/model-script.ts";
export { type ScriptedModel, scriptedModel } from "./testing/scripted-model/scripted-model.ts";
export {
  type EvictWorker,
  type OpenStore,
  type StoreCheck,
  storeContract,
} from "./testing/store-contract/store-contract.ts";
