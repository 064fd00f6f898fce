export type { Demand, Escalation, Vote } from "./core/approval/approval-demand.ts";
export type { EarnedTrust } from "./core/approval/earned-trust.ts";
export { attenuate, type Capability, type Principal } from "./core/approval/principal.ts";
export type { PinFact, Preview, PreviewPins } from "./core/approval/result-preview.ts";
export type { Basis, Objection } from "./core/approval/verdict-basis.ts";
export type { CallLimit, CountedLimit } from "./core/call/counted-limits.ts";
export type { Admission, Guard, Policy, ToolCondition, Verdict, VersionedGuard } from "./core/call/guard.ts";
export type {
  ExternalTerms,
  LedgerFact,
  Proposal,
  ReusableOutcome,
  SignalFact,
  ToolFacts,
} from "./core/call/proposal.ts";
export type { Receipt } from "./core/call/receipt.ts";
export type { ActNamedByApprover } from "./core/decide/act-named-by-approver.ts";
export type { HandedOverAnswer } from "./core/decide/command.ts";
export type { BackupRestore, RestoredRun, RunRestored } from "./core/event/backup-restore.ts";
export type { DoubtExits, Settlement } from "./core/event/doubt-settlement.ts";
export type { DuplicateAct } from "./core/event/duplicate-act.ts";
export type {
  Call,
  Confirmation,
  EndStatus,
  Event,
  GateEvent,
  Notice,
  RunEvent,
  StepEvent,
  StepsInFlight,
} from "./core/event/event.ts";
export type { ExternalAttempt } from "./core/event/external-attempt.ts";
export type { LedgerRowVersion } from "./core/event/ledger-row-version.ts";
export type {
  ActNaming,
  ActsLeftAbove,
  BranchId,
  LeftAct,
  LeftActEvent,
  NamedAct,
  SubAgentLeft,
} from "./core/event/left-act.ts";
export type { EarlierAct, ModelRequest, RunBranched, TurnFinished } from "./core/event/model-call.ts";
export type { OutputBlobs } from "./core/event/output-blobs.ts";
export type { ParentStep } from "./core/event/parent-step.ts";
export type { Provenance } from "./core/event/provenance.ts";
export type { RefusedGateDecision } from "./core/event/refused-gate-decision.ts";
export type { ReplanCause, ReplanTerms, RunReplanned } from "./core/event/replan.ts";
export type { ReuseSource } from "./core/event/reuse-source.ts";
export type { RollbackCause, RunRollingBack } from "./core/event/run-rolling-back.ts";
export type { RulesChange, RunRules } from "./core/event/run-rules.ts";
export type {
  AgentCause,
  AgentVersion,
  CallName,
  CloseStatus,
  RunClosed,
  RunReleased,
  SessionSegment,
  SessionStepEvent,
  StepDelegated,
  StepDelivered,
} from "./core/event/session.ts";
export type { Intent, RecordedIntent, Request, SignalSent, TakenSignal } from "./core/event/signal.ts";
export type { RunSimulated, SimulatedGate, SimulatedStep, Simulation } from "./core/event/simulation.ts";
export type { StepCause } from "./core/event/step-cause.ts";
export type { Parking, SignalBoxVersion } from "./core/event/step-parking.ts";
export type { Takeover } from "./core/event/takeover.ts";
export type { ToolPin } from "./core/event/tool-pin.ts";
export type { UndoneAct, UndoReport } from "./core/event/undone-act.ts";
export type { ActVerification, VerifiedAct, VerifiedChange } from "./core/event/verified-act.ts";
export type {
  Budget,
  CostEstimate,
  LimitRule,
  LimitSet,
  LimitUnit,
  Rate,
  RunBudget,
  RunBudgets,
} from "./core/limits/budget.ts";
export type { AlertLevel, BudgetAlert } from "./core/limits/budget-alert.ts";
export type { LimitedCharge, TallyCharge } from "./core/limits/tally-charge.ts";
export type { ModelContent, ModelToolCall } from "./core/model/model-content.ts";
export type { StepIndex } from "./core/persistent/step-index.ts";
export type { TreeSummary, TrieMap } from "./core/persistent/trie-map.ts";
export type { Vector } from "./core/persistent/vector.ts";
export type { Wakeup, WakeupHeap } from "./core/persistent/wakeup-heap.ts";
export type { PlanFinding, PlanTerms } from "./core/plan/analyse-plan.ts";
export { equivalentPlans, optimizePlan } from "./core/plan/optimize-plan.ts";
export type {
  BoundPart,
  Comparison,
  Condition,
  LeanPlan,
  LeanStep,
  OutcomeBinding,
  OutputCondition,
  Plan,
  PlanBinding,
  PlanStep,
  StateCondition,
  StepBinding,
} from "./core/plan/plan.ts";
export {
  type AnyPlannedOutput,
  buildPlan as plan,
  type OutputReference,
  type PlanBuilder,
  type PlannedInput,
  type PlannedJson,
  type PlannedOutput,
  type PlannedStep,
  type PlannedStepOptions,
  type PlannedValue,
} from "./core/plan/plan-builder.ts";
export type { ConditionInput, PlanBindingInput, PlanInput, PlanStepInput } from "./core/plan/plan-input.ts";
export type { PlanLowerBounds } from "./core/plan/plan-lower-bounds.ts";
export type { PlanOrder, StepSequence } from "./core/plan/plan-order.ts";
export {
  type PlanCandidate,
  type RankedPlan,
  type RankTerms,
  type RankWeights,
  rankPlans,
  type ScorePart,
  type ToolHistory,
} from "./core/plan/rank-plans.ts";
export type { PlanStepKind, StepKind } from "./core/plan/step-kinds.ts";
export type { Clock, RandomSource, Stopwatch, Timers } from "./core/ports/clock.ts";
export type { Expression, ExpressionResult } from "./core/ports/expression.ts";
export type {
  AbandonedCapture,
  Access,
  Capture,
  HandlesOf,
  KeptCaptures,
  Resource,
  ResourceChange,
  ResourceClosing,
  ResourceContents,
  ResourceDifference,
  ResourceHandles,
  ResourceMoment,
  RestoreReport,
} from "./core/ports/resource.ts";
export type { LeftPlace, RevertReport } from "./core/ports/revert-report.ts";
export type { Parsed, Schema } from "./core/ports/schema.ts";
export { type CallAnswer, type ModelText, modelText } from "./core/run/call-answer.ts";
export type { Conversation, LeftAgent, ModelLane, RecordedAnswer } from "./core/run/conversation.ts";
export type { OpenGate } from "./core/run/gate-details.ts";
export type { MissingWorker } from "./core/run/missing-worker.ts";
export type { MessageFact } from "./core/run/model-steps.ts";
export type { Parked } from "./core/run/parked-run.ts";
export type { ReplanContext, ReportedAct, ReportedFailure, ReportedSuccess } from "./core/run/replan-context.ts";
export type { Replanning } from "./core/run/replanning.ts";
export type { RollbackReport } from "./core/run/rollback-report.ts";
export type { Gate, Run, RunRecord, RunSpending, RunTerms } from "./core/run/run.ts";
export type { BlockedStep, FailedStep, ResultOutcome, RunResult } from "./core/run/run-result.ts";
export type { RunListing, RunSummary, WaitCounts } from "./core/run/run-summary.ts";
export type { Act, NextDoubtAction, Reservation, SentCall, Step, StepPace, StepStanding } from "./core/run/step.ts";
export type { RunTimes, RunVersions, StepCounts, StepReport, StepVersion } from "./core/run/step-report.ts";
export type { StepResult } from "./core/run/step-result.ts";
export type { StepTimes } from "./core/run/step-times.ts";
export type { TranscriptEntry, TranscriptOutcome } from "./core/run/transcript.ts";
export type { BackupContents, BackupRecord, RestoreCounts } from "./core/settings/backup.ts";
export type { RetentionCounts, RetentionRecord } from "./core/settings/retention-events.ts";
export type { SessionToForget } from "./core/settings/session-to-forget.ts";
export type {
  DeclaredState,
  NamedStatePointers,
  PointerToken,
  StatePointer,
} from "./core/state/named-state-pointers.ts";
export type { Patch, PatchOperation } from "./core/state/patch.ts";
export type { Entries, ProjectState } from "./core/state/project-state.ts";
export type { PolicyState, StateScope, StateValue } from "./core/state/read-state-value.ts";
export type {
  DraftOf,
  ListDraft,
  ListView,
  MapDraft,
  MapView,
  Reducer,
  Slice,
  SliceFold,
  SliceOf,
  SlicePolicy,
  SliceShape,
  ViewOf,
} from "./core/state/slice.ts";
export {
  type ResourceSnapshot,
  type SliceSnapshot,
  type Snapshot,
  type SnapshotCall,
  type SnapshotContents,
  type SnapshotPhase,
  snapshotsEquivalent,
} from "./core/state/snapshot.ts";
export type { StateAfterPatch } from "./core/state/state-after-patch.ts";
export type { ForkOrigin, RejectedCall, StateChange, StateRestore } from "./core/state/state-change.ts";
export type { StateDifference, TouchedEntries } from "./core/state/state-difference.ts";
export type { SnapshotPointer } from "./core/state/version-bundle.ts";
export type { RowSearch } from "./core/store/row-search.ts";
export type {
  AppendResult,
  Charge,
  Check,
  Claim,
  ClaimTerms,
  Entry,
  Erasure,
  FoundRows,
  Head,
  HeldRun,
  LiveWorker,
  LogState,
  Put,
  Query,
  RowName,
  RunClaims,
  RunLease,
  SealedEvent,
  Store,
  StoreCopies,
  StoreCopy,
  StoredEvent,
  StoredJournal,
  StoredRow,
  Tally,
  WorkerProcess,
} from "./core/store/store.ts";
export type {
  DoubtRow,
  GateRow,
  Halt,
  HaltScope,
  LedgerRow,
  LedgerState,
  NamedSessionRow,
  OutcomeRow,
  ProjectLock,
  RunCost,
  RunRow,
  ScheduleRow,
  SessionClosure,
  SignalRow,
  StatePoint,
  Table,
  WaitingFor,
} from "./core/store/tables.ts";
export type { TimeWindow } from "./core/time/time-window.ts";
export type { TimeZone } from "./core/time/time-zone.ts";
export type { AskedData, AskedValue } from "./core/tool/asked-data.ts";
export type { ExternalChange } from "./core/tool/external-change.ts";
export type {
  CachePolicy,
  ChangeProbe,
  CompletedAct,
  Cost,
  IdentityField,
  InputOf,
  OutputOf,
  Precondition,
  Probe,
  Sighting,
  Tool,
  ToolContext,
  ToolOf,
} from "./core/tool/tool.ts";
export type { Effect, Mode, WorldOutcome } from "./core/values/effect.ts";
export {
  expandVisibility,
  type Fault,
  type FaultCategory,
  type FaultCode,
  FaultError,
  faults,
  type NotDoneError,
  notDone,
} from "./core/values/fault.ts";
export type { HeldIn } from "./core/values/held-in.ts";
export type { Digest, EffectKey, Epoch, GateId, Instant, RunId, StepId, Tenant, WorkerId } from "./core/values/ids.ts";
export type { Json, JsonObject } from "./core/values/json.ts";
export type { TextForm } from "./core/values/normalize-text.ts";
export type { PeerPackage } from "./core/values/peer-package.ts";
export type { ActReport } from "./engine/api/act-report.ts";
export type {
  DailySpending,
  SpentByDay,
  SpentByDayOptions,
  ToolActivity,
  ToolActivityOptions,
  ToolActivityReport,
} from "./engine/api/activity-api.ts";
export type { AdoptOptions, AdoptReport, BackupReport } from "./engine/api/backup-api.ts";
export type { CheckOptions, PlanReport } from "./engine/api/check-api.ts";
export type {
  CheckpointFilter,
  Checkpoints,
  ForkOptions,
  LoadOptions,
  SnapshotReadOptions,
  TakeSnapshotOptions,
} from "./engine/api/checkpoint-api.ts";
export type { DeliveredNotice } from "./engine/api/delivered-notice.ts";
export type {
  ApproveOptions,
  AuditReport,
  BudgetView,
  CostReport,
  Engine,
  EngineOptions,
  RejectOptions,
  ResolveOptions,
  ServeOptions,
  SignalOptions,
  SignalReception,
  SpendingReport,
} from "./engine/api/engine-api.ts";
export type { Durability, EngineLimits } from "./engine/api/engine-limits.ts";
export type { HaltOptions, Halts } from "./engine/api/halt-api.ts";
export { type HeldGate, heldGate } from "./engine/api/held-gate.ts";
export type {
  ChangesOptions,
  DoubtListOptions,
  DoubtView,
  EngineLists,
  GateListOptions,
  GateView,
  ListOptions,
  ListPage,
  OutcomeListOptions,
  OutcomeView,
  PageOptions,
  RunChange,
  RunListOptions,
  TimeRange,
  UnreadableDoubt,
  UnreadableGate,
} from "./engine/api/list-api.ts";
export type { AskModel, ModelAnswer, ModelCallOptions, ModelContext } from "./engine/api/model-api.ts";
export type { NamedSessions, SessionPlace } from "./engine/api/named-sessions-api.ts";
export type {
  AppendedEvent,
  CallEnd,
  GivenTrace,
  ObservedCall,
  Observer,
  ObserverReport,
  TimedAppend,
} from "./engine/api/observer.ts";
export type {
  AgentCall,
  BeginCallOptions,
  BegunCall,
  CallsOptions,
  CallToolOptions,
  CallTurnOptions,
  CloseOptions,
  ConfirmCallOptions,
  DeliveryOptions,
  HostReport,
  OpenRun,
  OpenRunOptions,
  ParentCall,
  ReportedFault,
  SessionCall,
  SessionModelCall,
  SessionTurn,
} from "./engine/api/open-run-api.ts";
export type { OutcomeWithOutput } from "./engine/api/outcome-with-output.ts";
export type {
  JudgedSample,
  PolicyPlaceOptions,
  PolicySample,
  PolicyTestOptions,
  PolicyVersion,
  SampleVerdict,
  SetPolicyOptions,
  TenantPolicies,
  VerdictWord,
} from "./engine/api/policy-api.ts";
export { agent, type PrincipalDetails, type PrincipalInput, person, service } from "./engine/api/principal-input.ts";
export type { ProjectApi, ProjectVersion, ProjectView } from "./engine/api/project-api.ts";
export type { AbortableSubmitOptions, ReplanOptions, ReplanSettings } from "./engine/api/replan-options.ts";
export type { ReplayedStep } from "./engine/api/replay-api.ts";
export type { CallResult, PrincipalOptions, ReasonOptions, SubmitOptions } from "./engine/api/request-options.ts";
export type { ForgetOptions, RetentionReport } from "./engine/api/retention-report.ts";
export type {
  EventIds,
  RecordedEvent,
  RunHandle,
  RunProgress,
  TraceIds,
  WaitOptions,
} from "./engine/api/run-handle-api.ts";
export type { ScheduleOptions, Schedules } from "./engine/api/schedule-api.ts";
export type {
  CheckpointDiff,
  CheckpointRef,
  CheckpointRestore,
  CheckpointView,
  RecordedSlice,
  SnapshotOptions,
  StateSelector,
  StateSnapshot,
  StateVersionSelector,
  StateView,
  StepChange,
} from "./engine/api/state-api.ts";
export type { TenantSettings } from "./engine/api/tenant-settings.ts";
export type { EngineTools, PutToolsOptions, ToolView } from "./engine/api/tool-api.ts";
export type { WaitingRun, WorkersReport, WorkerView } from "./engine/api/workers-report.ts";
export { createEngine } from "./engine/engine.ts";
export {
  type PlanAndExecuteOptions,
  type PlannedRun,
  type PlanningEngine,
  type PlanningOptions,
  type PlanSource,
  planAndExecute,
  rankCandidates,
} from "./engine/plan-and-execute.ts";
export type { Failpoint, Failpoints } from "./engine/ports/failpoint.ts";
export type { BlobReference, OmittedValue } from "./engine/ports/output-as-plain-data.ts";
export type { NewId } from "./engine/ports/system-ports.ts";
export { definePlanner, type PlannerDefinition, type PlanRequest } from "./schema/define-planner.ts";
export { defineReplanner, type ReplanAnswer, type ReplannerDefinition } from "./schema/define-replanner.ts";
export { defineSlice, type FoldDefinition, type SliceDefinition } from "./schema/define-slice.ts";
export {
  type ChangeProbeOf,
  type ChangeSighting,
  type DoneOf,
  defineTool,
  type ProbeOf,
  type SightingOf,
  type ToolDefinition,
} from "./schema/define-tool.ts";
export { kvSlice } from "./schema/kv-slice.ts";
export type { SchemaDefinition, SchemaInput, SchemaOutput } from "./schema/schema-from.ts";
