import type { Demand, Vote } from "../approval/approval-demand.ts";
import type { Principal } from "../approval/principal.ts";
import type { Preview } from "../approval/result-preview.ts";
import type { Basis } from "../approval/verdict-basis.ts";
import type { CostEstimate, RunBudget } from "../limits/budget.ts";
import type { BudgetAlert } from "../limits/budget-alert.ts";
import type { LimitedCharge, TallyCharge } from "../limits/tally-charge.ts";
import type { LeanPlan, LeanStep } from "../plan/plan.ts";
import type { Capture, ResourceClosing, RestoreReport } from "../ports/resource.ts";
import type { ForkOrigin, StateChange, StateRestore } from "../state/state-change.ts";
import type { AskedValue } from "../tool/asked-data.ts";
import type { ExternalChange } from "../tool/external-change.ts";
import type { Cost, Tool } from "../tool/tool.ts";
import type { Mode, WorldOutcome } from "../values/effect.ts";
import type { Fault } from "../values/fault.ts";
import type { HeldIn } from "../values/held-in.ts";
import type { Digest, EffectKey, GateId, Instant, RunId, StepId, Tenant, WorkerId } from "../values/ids.ts";
import type { Json, JsonObject } from "../values/json.ts";
import type { BackupRestore, RunRestored } from "./backup-restore.ts";
import type { DoubtExits, Settlement } from "./doubt-settlement.ts";
import type { DuplicateAct } from "./duplicate-act.ts";
import type { ExternalAttempt } from "./external-attempt.ts";
import type { LedgerRowVersion } from "./ledger-row-version.ts";
import type { ActNaming, LeftActEvent, NamedAct } from "./left-act.ts";
import type { EarlierAct, RunBranched, TurnFinished } from "./model-call.ts";
import type { OutputBlobs } from "./output-blobs.ts";
import type { ParentStep } from "./parent-step.ts";
import type { Provenance } from "./provenance.ts";
import type { RefusedGateDecision } from "./refused-gate-decision.ts";
import type { ReplanTerms, RunReplanned } from "./replan.ts";
import type { ReuseSource } from "./reuse-source.ts";
import type { RunRollingBack } from "./run-rolling-back.ts";
import type { RulesChange, RunRules } from "./run-rules.ts";
import type { RunClosed, RunReleased, SessionSegment, SessionStepEvent } from "./session.ts";
import type { Request, TakenSignal } from "./signal.ts";
import type { RunSimulated } from "./simulation.ts";
import type { StepCause } from "./step-cause.ts";
import type { Parking } from "./step-parking.ts";
import type { Takeover } from "./takeover.ts";
import type { ToolPin } from "./tool-pin.ts";
import type { UndoReport } from "./undone-act.ts";
import type { ActVerification } from "./verified-act.ts";

/** A fact that happened to a run. It is stored once and never changed; the store has columns for its type and time. */
export type Event = { readonly at: Instant } & (RunEvent | StepEvent | GateEvent);

export type EventType = Event["type"];

/** The format version of stored events: 1 until the first release. CONTRIBUTING.md says when it increases. */
export const EVENT_VERSION = 1;

export type RunEvent =
  | {
      readonly type: "run.accepted";
      readonly run_id: RunId;
      readonly tenant: Tenant;
      readonly origin: RunId;
      readonly principal: Principal;
      readonly mode: Mode;
      /** Null for an open run, whose steps are proposed one by one. */
      readonly plan: LeanPlan | null;
      readonly context: JsonObject;
      readonly request: Request | null;
      readonly tools: Readonly<Record<string, ToolPin>>;
      readonly deadline_at: Instant | null;
      /** Absent for the default queue. */
      readonly queue?: string;
      /** Absent for 0. Workers claim runs with a higher priority first. */
      readonly priority?: number;
      readonly correlation_id: string;
      readonly trace_id: string;
      /** Present if a step of another run started this run. */
      readonly parent?: ParentStep;
      /** The project whose state the run uses. If absent, the run uses the state of its origin. */
      readonly project?: string;
      readonly session?: string;
      /** For lists: a title, and labels by which the run is found. */
      readonly title?: string;
      readonly labels?: readonly string[];
      /** Present for the run of a session. */
      readonly opened?: SessionSegment;
      /** Present if the run was forked from a checkpoint of another run. */
      readonly forked?: ForkOrigin;
      /** The steps that the caller confirmed in advance. */
      readonly confirmed?: Confirmation;
      /** Present if another plan may continue the run when its plan does not complete. */
      readonly replan?: ReplanTerms;
      /** The plans that are used first then, in their order. Absent: none. */
      readonly fallbacks?: readonly LeanPlan[];
      /** Present if the run continues a run that was in a restored backup: its acts may have been done before. */
      readonly restored?: BackupRestore;
      /** The budgets of the submission. A child run has those of its parent. */
      readonly budgets?: { readonly run: RunId; readonly limits: readonly RunBudget[] };
      /** The static rules of the process that accepted the run. Absent in runs of older versions. */
      readonly rules?: RunRules;
    }
  /** The plan or call was refused before anything ran. The run has ended; it is the record of the refusal. */
  | { readonly type: "run.refused"; readonly fault: Fault; readonly charges?: readonly LimitedCharge[] }
  | RunSimulated
  /** The notices cancel the sub-agents of calls that have not ended. */
  | (RunClosed & { readonly notices?: readonly Notice[] })
  | RunReleased
  | TurnFinished
  /** The notices cancel the sub-agents that the conversation leaves, and tell the others what it left. */
  | (RunBranched & { readonly notices?: readonly Notice[] })
  | LeftActEvent
  | RunReplanned
  | RunRestored
  | {
      readonly type: "cancel.requested";
      readonly by: string;
      readonly reason: string;
      readonly notices?: readonly Notice[];
    }
  | RunRollingBack
  | ({ readonly type: "run.resumed"; readonly by: string; readonly reason: string } & HeldIn)
  | ({ readonly type: "run.undone" } & UndoReport)
  | ({ readonly type: "run.verified" } & ActVerification)
  | {
      readonly type: "run.ended";
      readonly status: EndStatus;
      /** Present on a failed run in which nothing ran: its plan or all of its calls were refused. */
      readonly as?: "rejected";
      readonly notices?: readonly Notice[];
    }
  /** A worker took the run over from a worker that had not released it. */
  | ({ readonly type: "run.taken" } & Omit<Takeover, "at" | "position">)
  /** A worker with other rules continues the run. Calls that start after this event are judged by its rules. */
  | ({ readonly type: "run.rules_adopted"; readonly by: WorkerId } & RulesChange)
  /** The rules are pinned: no step starts until a person resumes the run, or a worker with its rules continues it. */
  | ({ readonly type: "run.parked"; readonly by: WorkerId; readonly notices: readonly Notice[] } & RulesChange)
  /** Too many takeovers without progress. No step starts until a person resumes the run. */
  | { readonly type: "run.poisoned"; readonly notices: readonly Notice[] }
  /** A budget of this run has reached an alert level. The store refuses `charges` if the alert was recorded before. */
  | ({
      readonly type: "budget.alerted";
      readonly charges: readonly LimitedCharge[];
      readonly notices: readonly Notice[];
    } & BudgetAlert)
  | { readonly type: "notice.delivered"; readonly notice_id: string }
  /** Retention erases the run, and no worker has delivered this notice of the engine. */
  | { readonly type: "notice.withdrawn"; readonly notice_id: string }
  /** State and files are as they were at an earlier checkpoint. The events in between remain in the journal. */
  | ({ readonly type: "state.restored" } & StateRestore);

/** Only the run of a session ends as abandoned. */
export type EndStatus = "completed" | "partial" | "failed" | "cancelled" | "abandoned";

/** The steps that the caller of a run confirms in advance: all (`true`), or the listed ones. */
export type Confirmation = true | readonly StepId[];

export type StepEvent = { readonly step_id: StepId } & (
  | {
      readonly type: "step.proposed";
      readonly step: LeanStep;
      readonly pin: ToolPin | null;
      readonly cause: StepCause;
    }
  | {
      readonly type: "step.started";
      readonly attempt: number;
      readonly call: Call;
      readonly ledger: LedgerRowVersion | null;
      /** The approval that this start uses up. Null if it uses none. */
      readonly gate: { readonly gate_id: GateId; readonly version: number } | null;
      /** The boot of the store. In the same boot, a missing send marker proves that the tool was never called. */
      readonly boot: string;
      /** The worker that makes the call of an act. Absent if the call does not act, and in older journals. */
      readonly worker?: WorkerId;
      /** Captures of the resources that the tool may change. They are restored unless the attempt succeeds. */
      readonly captures?: readonly Capture[];
      /** The amounts reserved from limits. They are settled in the same tallies when the attempt ends. */
      readonly charges?: readonly LimitedCharge[];
      /** The reaction that the tool demands if the act is not found later. Absent if it is not confirmed. */
      readonly confirm?: Exclude<Tool["confirm"], "none">;
      /** Present on an act of an atomic plan whose tool declares a compensation. */
      readonly reversible?: true;
      /** Present if the host of the agent does the work itself. */
      readonly external?: ExternalAttempt;
      readonly basis?: Basis;
    }
  | {
      readonly type: "step.succeeded";
      readonly attempt: number;
      /** The principal of the host that did the work itself and reported its end. */
      readonly reported_by?: string;
      readonly started_at: Instant;
      readonly output: Json;
      readonly contents?: OutputBlobs;
      readonly world: WorldOutcome;
      /** Present if the input differs from the payload in the plan. */
      readonly input?: Json;
      readonly cost?: Cost;
      readonly charges?: readonly TallyCharge[];
      /** The changes that the handler made outside. Absent: none. */
      readonly changes?: readonly ExternalChange[];
      readonly ledger?: LedgerRowVersion;
      readonly reused?: ReuseSource;
      readonly notices?: readonly Notice[];
      readonly outcome?: Provenance;
      readonly warning?: string;
      /** The signal that ended a wait, and the version of the signal row from this event on. */
      readonly signal?: TakenSignal;
      /** The version of the project state that the attempt read. */
      readonly base?: number;
      /** The changes of the call in resources, in the order of the captures. */
      readonly closings?: readonly ResourceClosing[];
      readonly state?: StateChange;
      /** Present if no `step.started` event of this attempt records it. */
      readonly basis?: Basis;
    }
  | {
      readonly type: "step.failed";
      readonly attempt: number;
      readonly reported_by?: string;
      readonly started_at: Instant;
      readonly fault: Fault;
      /** Null if no attempt follows. */
      readonly retry_at: Instant | null;
      /** Present on the last failure of a step that its plan permits to fail: the step ends as skipped. */
      readonly skips?: true;
      readonly world: WorldOutcome;
      readonly input?: Json;
      /** The output of an act that happened although its step failed, or a refused answer. No other step may use it. */
      readonly output?: Json;
      readonly contents?: OutputBlobs;
      readonly cost?: Cost;
      readonly charges?: readonly TallyCharge[];
      readonly changes?: readonly ExternalChange[];
      readonly ledger?: LedgerRowVersion;
      readonly sparing?: StepsInFlight;
      /** The details of the last heartbeat of the handler. */
      readonly heartbeat?: Json;
      /** The signal that reports the end of the child run. */
      readonly signal?: TakenSignal;
      readonly base?: number;
      /** The entries that the call wrote to log slices, which are published also on failure. */
      readonly state?: StateChange;
      readonly basis?: Basis;
    }
  | {
      readonly type: "step.cancelled";
      readonly attempt: number;
      readonly reported_by?: string;
      readonly started_at: Instant;
      readonly cost?: Cost;
      readonly charges?: readonly TallyCharge[];
      readonly basis?: Basis;
    }
  | {
      readonly type: "step.doubted";
      readonly attempt: number;
      readonly reported_by?: string;
      readonly fault: Fault;
      readonly changes?: readonly ExternalChange[];
      readonly ledger: LedgerRowVersion;
      readonly exits: DoubtExits;
      /** A handler of the act may still run. A second `step.doubted` without this field records that none does. */
      readonly alive?: true;
      /** Absent if the same doubt was recorded before. */
      readonly notices?: readonly Notice[];
      /** The details of the last heartbeat of the handler. */
      readonly heartbeat?: Json;
      readonly cost?: Cost;
      readonly charges?: readonly TallyCharge[];
    }
  | {
      readonly type: "step.probed";
      readonly saw: "absent" | "unknown";
      readonly why: string;
      readonly next_at: Instant | null;
    }
  | ({
      readonly type: "step.settled";
      readonly settled: Settlement;
      readonly by: string;
      readonly reason: string;
      readonly ledger: LedgerRowVersion | null;
      /** Releases the reserved amounts of an act that did not happen. */
      readonly charges?: readonly TallyCharge[];
      readonly sparing?: StepsInFlight;
    } & HeldIn)
  | { readonly type: "step.readied"; readonly why: string }
  /** The attempt failed; its resources are restored next. `lost`: its worker died, and it has no other fault. */
  | { readonly type: "step.restoring"; readonly attempt: number; readonly fault: Fault; readonly lost?: true }
  | { readonly type: "step.restored"; readonly attempt: number; readonly restored: readonly RestoreReport[] }
  | {
      readonly type: "step.rejected";
      readonly rule: string;
      readonly fault: Fault;
      readonly sparing?: StepsInFlight;
      readonly basis?: Basis;
    }
  | { readonly type: "step.parked"; readonly on: Parking }
  | ({
      readonly type: "step.compensating";
      readonly by: string;
      readonly reason: string;
      readonly ledger: LedgerRowVersion;
      readonly charges?: readonly TallyCharge[];
    } & HeldIn)
  | { readonly type: "step.compensated"; readonly confirmed: boolean; readonly ledger: LedgerRowVersion }
  | { readonly type: "step.uncompensated"; readonly fault: Fault; readonly ledger: LedgerRowVersion }
  /** A person approved a repeat of the act elsewhere. The ledger row now belongs to the repeat. */
  | { readonly type: "step.superseded"; readonly by: Pick<DuplicateAct, "run" | "step" | "generation"> }
  | SessionStepEvent
  /** A value that arrived too late to be the result. A person who settles the doubt can read it here. */
  | { readonly type: "evidence.kept"; readonly attempt: number; readonly evidence: Json }
);

/**
 * Steps that are running without a recorded start. Only the worker that holds the run knows them; any other process
 * passes "unknown". An event that ends the plan does not skip the steps in `sparing`: they end by themselves.
 */
export type StepsInFlight = readonly StepId[] | "unknown";

/** The exact call: the same input is hashed, shown, approved and executed. */
export interface Call {
  readonly input: Json;
  readonly digest: Digest;
  /** Null for a call that does not act. */
  readonly key: EffectKey | null;
  /** The source of the key. With a template, a call with the same key and another input is a different call. */
  readonly keyed_by: "identity" | "template" | "input" | null;
  /** A warning for the approver: equal-looking texts in the identity of the call may differ in their bytes. */
  readonly caution?: string;
}

export interface Notice {
  readonly notice_id: string;
  /** Present on a notice to other runs: the end of a child run, its cancellation, or that a branch has left acts. */
  readonly kin?: "report" | "cancel" | "left_acts";
  readonly topic: string;
  readonly payload: Json;
}

export type GateEvent = { readonly gate_id: GateId } & (
  | {
      readonly type: "gate.opened";
      readonly step_id: StepId;
      readonly call: Call;
      readonly rule: string;
      readonly reason: string;
      readonly demand: Demand;
      readonly expires_at: Instant;
      /** The earlier act that this call would repeat. An approval also approves the repeat. */
      readonly duplicate_of: DuplicateAct | null;
      /** The acts of the same tool in branches that the conversation has left. The call may be one of them. */
      readonly earlier?: readonly EarlierAct[];
      /** The expected cost. Absent if it is unknown. */
      readonly estimate?: CostEstimate;
      /** True if the call can be undone or restored. Absent if there is nothing to undo. */
      readonly reversible?: boolean;
      /** Present on an act of an atomic plan: the approval also covers its compensation, if the plan aborts. */
      readonly covers?: "compensation";
      /** The expected changes. Absent if there is no preview. */
      readonly preview?: Preview;
      /** The values that the call lacks: the approval supplies them. `call` is the call without them. */
      readonly asks_for?: readonly AskedValue[];
      /** Why an earlier approval is no longer valid. */
      readonly stale?: Fault;
      /** The votes of the approvers who edited the call to this one. */
      readonly votes?: readonly Vote[];
      readonly basis?: Basis;
      readonly notices?: readonly Notice[];
    }
  /** An approving vote; more votes are needed. */
  | ({ readonly type: "gate.endorsed"; readonly by: Principal; readonly reason: string } & NamedAct)
  | ({
      readonly type: "gate.approved";
      readonly by: Principal;
      readonly reason: string;
      readonly use_by: Instant;
      readonly naming?: ActNaming;
    } & NamedAct)
  /** An approval with an edited call. The guards judge the edited call again, and earlier votes are void. */
  | {
      readonly type: "gate.amended";
      readonly by: Principal;
      readonly reason: string;
      readonly use_by: Instant;
      readonly call: Call;
    }
  /** The gate stayed undecided for so long that more approvers may decide it. The notices inform them. */
  | { readonly type: "gate.escalated"; readonly notices: readonly Notice[] }
  | {
      readonly type: "gate.rejected";
      readonly by: Principal;
      readonly reason: string;
      readonly sparing?: StepsInFlight;
      readonly charges?: readonly TallyCharge[];
    }
  | { readonly type: "gate.expired"; readonly sparing?: StepsInFlight }
  | { readonly type: "gate.closed"; readonly reason: string }
  | ({ readonly type: "gate.contested" } & RefusedGateDecision)
);
