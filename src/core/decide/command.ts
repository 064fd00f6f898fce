import type { EarnedTrust } from "../approval/earned-trust.ts";
import type { Principal } from "../approval/principal.ts";
import type { Basis } from "../approval/verdict-basis.ts";
import type { Proposal, ReuseTerms, ToolFacts } from "../call/proposal.ts";
import type { BackupRestore } from "../event/backup-restore.ts";
import type { Call, Confirmation, Notice, StepEvent, StepsInFlight } from "../event/event.ts";
import type { LeftAct } from "../event/left-act.ts";
import type { ParentStep } from "../event/parent-step.ts";
import type { ReplanTerms } from "../event/replan.ts";
import type { ReuseSource } from "../event/reuse-source.ts";
import type { RunRules } from "../event/run-rules.ts";
import type { AgentCause, CloseStatus, SessionSegment } from "../event/session.ts";
import type { Request } from "../event/signal.ts";
import type { RunSimulated } from "../event/simulation.ts";
import type { StepCause } from "../event/step-cause.ts";
import type { SignalBoxVersion } from "../event/step-parking.ts";
import type { Takeover } from "../event/takeover.ts";
import type { ToolPin } from "../event/tool-pin.ts";
import type { UndoneAct } from "../event/undone-act.ts";
import type { RunBudgets } from "../limits/budget.ts";
import type { BudgetAlert } from "../limits/budget-alert.ts";
import type { LimitedCharge } from "../limits/tally-charge.ts";
import type { Plan, PlanStep } from "../plan/plan.ts";
import type { ResourceClosing, RestoreReport } from "../ports/resource.ts";
import type { MessageFact } from "../run/model-steps.ts";
import type { HaltFact } from "../settings/halt.ts";
import type { Patch } from "../state/patch.ts";
import type { ForkOrigin, StateChange, StateRestore } from "../state/state-change.ts";
import type { Check } from "../store/store.ts";
import type { ExternalChange } from "../tool/external-change.ts";
import type { Cost, Sighting } from "../tool/tool.ts";
import type { Mode, WorldOutcome } from "../values/effect.ts";
import type { Fault } from "../values/fault.ts";
import type { Digest, GateId, Instant, RunId, StepId, WorkerId } from "../values/ids.ts";
import type { Json, JsonObject } from "../values/json.ts";
import type { ActSighting } from "./act-finding.ts";
import type { ActNamedByApprover } from "./act-named-by-approver.ts";
import type { AllowedVerb } from "./allowed-verb.ts";
import type { HandlerResult } from "./handler-result.ts";
import type { HeldRequest } from "./held-request.ts";
import type { RefusedDecisionTerms } from "./refused-decision-terms.ts";
import type { ReplanFact } from "./replan-run.ts";

/**
 * A request to change a run, as plain data: it can be serialised, logged and replayed with the same decision. It has
 * its time and every fact that its decision needs; compiled rules are a separate argument of `decide`.
 */
export type Command = { readonly now: Instant } & (
  | {
      readonly type: "accept";
      readonly run_id: RunId;
      readonly origin: RunId;
      readonly principal: Principal;
      readonly mode: Mode;
      readonly plan: Plan | null;
      readonly context: JsonObject;
      readonly request: Request | null;
      /** The rows that must be as they were read, such as the absent row of an older format of the request. */
      readonly checks?: readonly Check[];
      readonly tools: Readonly<Record<string, ToolPin>>;
      readonly deadline_at: Instant | null;
      readonly queue?: string;
      readonly priority?: number;
      readonly correlation_id: string;
      readonly trace_id: string;
      readonly parent?: ParentStep;
      readonly project?: string;
      readonly session?: string;
      readonly title?: string;
      readonly labels?: readonly string[];
      readonly opened?: SessionSegment;
      readonly forked?: ForkOrigin;
      readonly confirmed?: Confirmation;
      readonly budgets?: RunBudgets;
      readonly restored?: BackupRestore;
      readonly replan?: ReplanTerms;
      readonly fallbacks?: readonly Plan[];
      readonly rules?: RunRules;
      /** The reason of a cancellation that arrived before the run. The run is accepted and cancelled at once. */
      readonly cancelled?: string;
      /** Why the plan or call is refused. The run is accepted and ended at once, as the record of the refusal. */
      readonly refused?: Fault;
      /** The report of a simulation of the plan. The run is accepted and ended at once, as the record of the dry run. */
      readonly simulated?: Omit<RunSimulated, "type">;
      /** The charge for the record of a refusal. The store refuses it if the principal has too many on record. */
      readonly refusal_charge?: LimitedCharge;
      /** The gate of a held request to use a verb. The run is accepted and its only step waits at the gate at once. */
      readonly held?: HeldRequest;
      readonly inherited?: readonly InheritedStep[];
    }
  | { readonly type: "propose"; readonly calls: readonly ProposedCall[] }
  /** Asks a model, or finds the recorded answer. */
  | {
      readonly type: "ask_model";
      readonly call: ProposedCall;
      /** All messages of the request. */
      readonly messages: readonly MessageFact[];
      /** How many equal requests this start of the loop has made in the turn, with this one. */
      readonly nth: number;
      /** The model calls that a caller waits for now. */
      readonly in_flight: readonly StepId[];
    }
  /** Final answers were handed over, so their turns are finished. "all": the caller ends the turns of all lanes. */
  | { readonly type: "finish_turns"; readonly answers: readonly HandedOverAnswer[] | "all" }
  | {
      readonly type: "close";
      readonly principal: Principal;
      readonly as: CloseStatus;
      readonly reason: string;
      /** Present: the run is full. It is closed only if no call of it is unfinished. */
      readonly continues?: true;
    }
  /** Closes an open run that has been idle for too long. */
  | { readonly type: "abandon" }
  /** A sub-agent does the call: its session is the run `child`. */
  | { readonly type: "delegate"; readonly step_id: StepId; readonly child: RunId }
  /** A sub-agent that a branch has left is cancelled, so its acts are known. */
  | { readonly type: "leave_agent"; readonly child: RunId; readonly acts: readonly LeftAct[] }
  /** Branches of the conversation above have left acts. */
  | { readonly type: "inherit_acts"; readonly acts: readonly LeftAct[] }
  /** The worker that drives an open run releases it. */
  | { readonly type: "release"; readonly by: WorkerId; readonly answers: readonly HandedOverAnswer[] }
  /** The answer of a call was handed to a client. */
  | { readonly type: "deliver_answer"; readonly step_id: StepId; readonly to: string }
  | {
      readonly type: "start";
      readonly step_id: StepId;
      readonly proposal: Proposal;
      /** The version of the policy that decides, or null if there is none. */
      readonly policy: string | null;
      /** Checks of the append that no policy was published since, if `policy` is null. */
      readonly unruled: readonly Check[];
      readonly halts: HaltFact;
      /** The position of the run when this process first loaded it. It has not seen the acts before that happen. */
      readonly loaded: number;
      /** Null: not listed, because few decisions use them; the decision then asks for them. */
      readonly in_flight: readonly StepId[] | null;
    }
  | {
      readonly type: "end";
      readonly grant: Grant;
      readonly ending: HandlerResult;
      /** The principal that reports the end of work that it did itself. */
      readonly reported_by?: string;
      /** The details of the last heartbeat of the handler, or null. */
      readonly heartbeat: Json | null;
      readonly tool: ToolFacts;
      readonly cost: Cost | null;
      readonly reuse: ReuseTerms | null;
      readonly errands: readonly FollowUpStep[];
      readonly notices: readonly Notice[];
      /** Null if no slice is declared. */
      readonly state: StateFact | null;
      readonly closings?: readonly ResourceClosing[];
      /** The changes that the handler made outside. Absent: none. */
      readonly changes?: readonly ExternalChange[];
      /** A random number in [0, 1) for the jitter of a retry. */
      readonly dice: number;
      readonly in_flight: readonly StepId[];
      /** For an undo: a verifier confirmed that the act is undone. */
      readonly confirmed: boolean;
      /** Present on a value of the replanner. */
      readonly replan?: ReplanFact;
    }
  | {
      readonly type: "recover";
      readonly found: readonly RecoveryFinding[];
      /** Null if the previous worker released the run. */
      readonly taken: TakeoverClaim | null;
      /** The rules of the worker that recovers the run. Null if the run has the same rules. */
      readonly rules: WorkerRules | null;
    }
  | {
      readonly type: "settle";
      readonly step_id: StepId;
      readonly sighting: Sighting | null;
      /** A worker that made the call and whose process may still run its handler, or null. */
      readonly sender: WorkerId | null;
      /** How long the call may still be in transit, in milliseconds by the stopwatch of this worker. */
      readonly quiet_in: number;
      readonly flaw: Fault | null;
      readonly in_flight: readonly StepId[];
    }
  | ({
      readonly type: "resolve";
      readonly step_id: StepId;
      readonly principal: Principal;
      readonly verdict: Resolution;
      /** The attempt that the decision is about. Null for the current one. */
      readonly attempt: number | null;
      readonly reason: string;
      readonly in_flight: StepsInFlight;
    } & AllowedVerb)
  | {
      readonly type: "approve";
      readonly gate_id: GateId;
      readonly principal: Principal;
      readonly reason: string;
      /** The digest of the call that the decision is about. Absent for the call that the gate holds. */
      readonly digest?: string;
      /** Present: a client of the requester confirms the call. That is no approval, and meets a confirmation only. */
      readonly confirms?: true;
      /** The edited call that is approved instead. Absent if the held call is approved. */
      readonly edit?: CallEdit;
      /** The earlier act that the call is. Its receipt answers the call. */
      readonly same?: ActNamedByApprover;
      readonly use_within_ms: number;
      readonly contest?: RefusedDecisionTerms;
      readonly in_flight: StepsInFlight;
    }
  | {
      readonly type: "reject";
      /** The trust that the requester has earned with the tool. The rejection forfeits it. */
      readonly record?: EarnedTrust;
      readonly gate_id: GateId;
      readonly principal: Principal;
      readonly reason: string;
      readonly digest?: string;
      readonly contest?: RefusedDecisionTerms;
      readonly in_flight: StepsInFlight;
    }
  /** A gate is due: it escalates to more approvers, or expires. */
  | { readonly type: "expire"; readonly gate_id: GateId; readonly in_flight: StepsInFlight }
  /** The ledger row of an act of this run belongs to a later generation. */
  | {
      readonly type: "supersede";
      readonly step_id: StepId;
      readonly by: Extract<StepEvent, { type: "step.superseded" }>["by"];
    }
  | { readonly type: "cancel"; readonly principal: Principal; readonly reason: string }
  | { readonly type: "roll_back" } // Continues the rollback of an atomic plan.
  /** Records the results of a request to undo all acts. */
  | ({
      readonly type: "tell_undone";
      readonly principal: Principal;
      readonly reason: string;
      readonly acts: readonly UndoneAct[];
    } & AllowedVerb)
  /** Records what verifiers found about acts. `by` is the principal that asked, or null if the engine asked. */
  | {
      readonly type: "verify";
      readonly by: string | null;
      readonly reason: string;
      readonly seen: readonly ActSighting[];
    }
  /** A halt was lifted: the halted steps start again. With `step_id`: the caller of this step runs it now. */
  | { readonly type: "wake"; readonly step_id?: StepId }
  | ({
      readonly type: "resume";
      readonly verb: "resume" | "resume:parked";
      readonly principal: Principal;
      readonly reason: string;
      /** Changes nothing unless the run has ended as failed or partial and has a step that can run again. */
      readonly only?: "failed";
    } & AllowedVerb)
  /** The run was in a backup that is restored now. */
  | {
      readonly type: "park";
      readonly principal: Principal;
      readonly reason: string;
      readonly restoration: BackupRestore;
    }
  | ({
      readonly type: "restore";
      readonly principal: Principal;
      readonly reason: string;
      /** The version that state is restored to. */
      readonly to: number;
      readonly state: Pick<StateFact, "change" | "fault">;
      /** The resources that were restored with the state. Null if none changed. */
      readonly files: Required<Pick<StateRestore, "captures" | "closings">> | null;
    } & AllowedVerb)
  /** The resources that an attempt changed are restored next. */
  | {
      readonly type: "restoring";
      readonly step_id: StepId;
      readonly attempt: number;
      /** Null: the worker of the attempt died, and no fault is on record. */
      readonly fault: Fault | null;
    }
  | {
      readonly type: "restored";
      readonly step_id: StepId;
      readonly attempt: number;
      readonly restored: readonly RestoreReport[];
    }
  /** The resources that an attempt changed cannot be restored before a person has done something. */
  | { readonly type: "unrestorable"; readonly step_id: StepId; readonly attempt: number; readonly fault: Fault }
  | { readonly type: "alert"; readonly alert: BudgetAlert }
  | { readonly type: "deliver"; readonly notice_id: string }
  /** Retention is about to erase the ended run. */
  | { readonly type: "withdraw" }
  /** A signal was sent that a step waits for. */
  | {
      readonly type: "signal";
      readonly signal_id: string;
      readonly step_id: StepId;
      readonly box: SignalBoxVersion;
      readonly payload: Json;
      readonly by: string;
      readonly request: Request | null;
      readonly in_flight: StepsInFlight;
    }
);

/** A call that an agent proposes, as a step. `refused` says why it cannot be made; it is recorded all the same. */
export interface ProposedCall {
  readonly step: PlanStep;
  readonly pin: ToolPin | null;
  readonly cause: AgentCause;
  readonly refused: Fault | null;
}

/** The final answer of a turn, which its caller has received whole. */
export interface HandedOverAnswer {
  readonly lane: string;
  readonly step_id: StepId;
}

export type CommandOf<Type extends Command["type"]> = Extract<Command, { type: Type }>;

/** The right to execute one attempt. Only a decision creates it. */
export interface Grant {
  readonly step_id: StepId;
  readonly attempt: number;
  readonly started_at: Instant;
  readonly generation: number;
  /** True if a `step.started` event records the attempt. */
  readonly recorded: boolean;
  readonly proposal: Proposal;
  readonly basis: Basis | null;
}

/** An edited call, or the fault of its input. `completes`: it has exactly the data that its gate asks for. */
export type CallEdit = { readonly call: Call; readonly completes?: true } | { readonly flaw: Fault };

/** The change of an attempt to the state of its project, computed on the latest version when the attempt ends. */
export interface StateFact {
  /** The version that the attempt read. */
  readonly base: number;
  /** The change that a success publishes, or null. */
  readonly change: StateChange | null;
  /** The log entries that a failure publishes, or null. */
  readonly logged: StateChange | null;
  /** A path that the attempt read or wrote and that another call has changed since, or null. */
  readonly conflict: string | null;
  /** Why the change is not valid, or null. */
  readonly fault: Fault | null;
  /** The changes that the handler wrote. */
  readonly written: Patch;
}

/** A successful step of the run that this run was forked from. */
export interface InheritedStep {
  readonly step_id: StepId;
  readonly output: Json;
  readonly world: WorldOutcome;
  readonly reused: ReuseSource;
}

/** A step that a successful call adds to the run. */
export interface FollowUpStep {
  readonly step: PlanStep;
  readonly pin: ToolPin | null;
  readonly cause: StepCause;
}

/** The facts that a new worker finds about a step that was running, in doubt or waiting for a tool. */
export interface RecoveryFinding {
  readonly step_id: StepId;
  /** Whether the send marker of the attempt exists. */
  readonly mark: "yes" | "no" | "unknown";
  /** True if the process of a worker that made the call may still run its handler. */
  readonly alive: boolean;
  readonly tool: ToolFacts | null;
}

/** A worker, and the digest of its static rules. */
export interface WorkerRules {
  readonly worker: WorkerId;
  readonly digest: Digest;
}

/** A takeover, and the number of takeovers without progress after which the run is parked. */
export interface TakeoverClaim extends Pick<Takeover, "by" | "from" | "epoch"> {
  readonly most: number;
}

export type Resolution =
  /** `flaw`: why the output is refused. `missing`: the output is unknown, so the step fails with this fault. */
  | { readonly as: "happened"; readonly output: Json; readonly flaw: Fault | null; readonly missing?: Fault }
  | { readonly as: "absent" }
  | { readonly as: "give_up" }
  | { readonly as: "undo"; readonly tool: ToolFacts | null; readonly record?: EarnedTrust }
  /** Requests another verification. */
  | { readonly as: "verify" };
