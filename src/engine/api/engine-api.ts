import type { VersionedGuard } from "../../core/call/guard.ts";
import type { UndoneAct } from "../../core/event/undone-act.ts";
import type { VerifiedAct } from "../../core/event/verified-act.ts";
import type { Budget, LimitUnit, Rate } from "../../core/limits/budget.ts";
import type { Clock, RandomSource, Stopwatch, Timers } from "../../core/ports/clock.ts";
import type { Resource } from "../../core/ports/resource.ts";
import type { CallAnswer } from "../../core/run/call-answer.ts";
import type { RunSpending } from "../../core/run/run.ts";
import type { BackupRecord } from "../../core/settings/backup.ts";
import type { RetentionRecord } from "../../core/settings/retention-events.ts";
import type { Slice } from "../../core/state/slice.ts";
import type { ClaimTerms, Store } from "../../core/store/store.ts";
import type { TimeWindow } from "../../core/time/time-window.ts";
import type { InputOf, OutputOf, Tool } from "../../core/tool/tool.ts";
import type { Instant, RunId, StepId } from "../../core/values/ids.ts";
import type { Json, JsonObject } from "../../core/values/json.ts";
import type { Failpoints } from "../ports/failpoint.ts";
import type { NewId } from "../ports/system-ports.ts";
import type { ActReport } from "./act-report.ts";
import type { SpentByDay, SpentByDayOptions } from "./activity-api.ts";
import type { AdoptOptions, AdoptReport, BackupReport } from "./backup-api.ts";
import type { CheckOptions, PlanReport } from "./check-api.ts";
import type { Checkpoints } from "./checkpoint-api.ts";
import type { DeliveredNotice } from "./delivered-notice.ts";
import type { Durability, EngineLimits } from "./engine-limits.ts";
import type { Halts } from "./halt-api.ts";
import type { EngineLists, GateView } from "./list-api.ts";
import type { NamedSessions } from "./named-sessions-api.ts";
import type { Observer, ObserverReport } from "./observer.ts";
import type { HostReport, OpenRun, OpenRunOptions } from "./open-run-api.ts";
import type { OutcomeWithOutput } from "./outcome-with-output.ts";
import type { TenantPolicies } from "./policy-api.ts";
import type { PrincipalInput } from "./principal-input.ts";
import type { ProjectApi } from "./project-api.ts";
import type { AbortableSubmitOptions } from "./replan-options.ts";
import type { CallResult, PrincipalOptions, ReasonOptions, SubmitOptions } from "./request-options.ts";
import type { ForgetOptions, RetentionReport } from "./retention-report.ts";
import type { RunHandle } from "./run-handle-api.ts";
import type { Schedules } from "./schedule-api.ts";
import type { Simulation } from "./simulation-api.ts";
import type { StateSelector, StateVersionSelector, StateView } from "./state-api.ts";
import type { TenantSettings } from "./tenant-settings.ts";
import type { EngineTools } from "./tool-api.ts";
import type { WorkersReport } from "./workers-report.ts";

export type { CheckOptions, PlanReport } from "./check-api.ts";
export type { GateView, PageOptions, UnreadableGate } from "./list-api.ts";
export type { PrincipalInput } from "./principal-input.ts";
export type { AbortableSubmitOptions } from "./replan-options.ts";
export type { CallResult, PrincipalOptions, ReasonOptions, SubmitOptions } from "./request-options.ts";
export type { RecordedEvent, RunHandle, RunProgress, WaitOptions } from "./run-handle-api.ts";
export type { ScheduleOptions } from "./schedule-api.ts";
export type { SimulatedGate, SimulatedStep, Simulation } from "./simulation-api.ts";

export interface EngineOptions {
  /** The store, or a promise of one that must connect first. */
  readonly store: Store | Promise<Store>;
  /** The tools that this engine executes. Default: none, and it executes nothing. */
  readonly tools?: readonly Tool[];
  /** The parts of a project's state, made by defineSlice. */
  readonly slices?: readonly Slice[];
  /** Resources that tools change, such as file trees, by the name that tools use. */
  readonly resources?: Readonly<Record<string, Resource>>;
  /** The settings of each tenant, by its name. */
  readonly tenants?: Readonly<Record<string, TenantSettings>>;
  /** Budgets that apply to every tenant; `tenants` adds more for one tenant. */
  readonly budgets?: readonly Budget[];
  /** Call rates that apply to every tenant; `tenants` adds more for one tenant. */
  readonly rates?: readonly Rate[];
  /** The time zone of the days and months that budgets count, by IANA name. Default: UTC. */
  readonly zone?: string;
  /** Additional guards. They run after the built-in ones. */
  readonly guards?: readonly VersionedGuard[];
  /** Policies as JSON, each with its scope. A call that one policy refuses is refused, even if others allow it. */
  readonly policies?: readonly unknown[];
  /** False: this engine submits, decides and reads, but executes no step. Default: true if `tools` is given. */
  readonly work?: boolean;
  /** Which runs this engine claims, and how many. Default: all of them, without a limit. */
  readonly worker?: ClaimTerms;
  /** True: plans state effects, tags, cache policy and idempotency template explicitly. Default: false. */
  readonly strictPlans?: boolean;
  /**
   * Seed of `context.random`. All workers of a store use the same one, so that a repeated call gets the same numbers.
   */
  readonly seed?: string;
  /** The appends that are synced to disk: `every`, `power` or `process`. Default: power. */
  readonly durability?: Durability;
  /** Limits of this engine, each by its name. */
  readonly limits?: Partial<EngineLimits>;
  /**
   * Returns the principal of a credential, or null. With it, the engine accepts only principals that
   * `engine.authenticate` has returned. Without it, the engine believes every principal that it is given.
   */
  readonly authenticate?: (credential: string) => PrincipalInput | null | Promise<PrincipalInput | null>;
  /** Delivers notices, each at least once and under a stable id. Without it they wait for a worker that has it. */
  readonly onNotice?: (notice: DeliveredNotice) => Promise<void>;
  /** True: every gate that this engine opens sends a notice, topic `gate.opened`. Default: false. */
  readonly gateNotices?: boolean;
  /** Observers of events and calls, for traces, metrics and logs. */
  readonly observers?: readonly Observer[];
  /** The clock. Default: that of the system; tests pass another. */
  readonly clock?: Clock;
  /** A monotonic clock. It detects that this process was suspended. */
  readonly stopwatch?: Stopwatch;
  /** Timers. Default: those of the system; tests pass others. */
  readonly timers?: Timers;
  /** The source of random numbers. Default: that of the system; tests pass another. */
  readonly dice?: RandomSource;
  /** Makes ids. Default: random ids that sort by time; tests pass another. */
  readonly newId?: NewId;
  /** Called at the named points at which tests kill the process. Default: nothing happens. */
  readonly failpoint?: Failpoints;
}

export interface SignalOptions extends PrincipalOptions {
  /** The sender's id of this signal. Sending the same id again has no effect. */
  readonly id?: string;
}

/** delivered: a step was waiting. kept: stored for the next step that waits. duplicate: the id was sent before. */
export type SignalReception = "delivered" | "kept" | "duplicate";

export interface RejectOptions extends ReasonOptions {
  /** Digest of the call that the decider saw. If the gate now holds another call, nothing is decided. */
  readonly digest?: string;
}

export interface ApproveOptions extends RejectOptions {
  /** Approves the call with this input instead. The guards check the edited call like any other. */
  readonly input?: Json;
  /** The values that the gate asks for (`asks_for`), by their JSON pointers. They complete the call. */
  readonly data?: JsonObject;
  /**
   * The earlier act, of those that the gate shows, that the call is: its step, or its run and step (`run/step`) if it has
   * another run. Its receipt answers the call; nothing is done.
   */
  readonly sameAs?: string;
}

/**
 * How a person settles an act in doubt, or asks its tool's verifier to check it again. `happened` without an output means
 * null. If the tool is not registered here, the act is recorded as happened, and its step fails until its output is
 * given where the tool is registered.
 */
export type ResolveOptions = ReasonOptions & {
  /** The attempt that the person looked at. If a newer attempt exists, nothing is settled. */
  readonly attempt?: number;
} & (
    | { readonly as: "happened"; readonly output?: Json }
    | { readonly as: "absent" }
    | { readonly as: "undo" }
    | { readonly as: "give_up" }
    | { readonly as: "verify" }
  );

export interface CostReport {
  readonly run_id: RunId;
  readonly spent: RunSpending;
  readonly attempts: readonly {
    readonly step_id: StepId;
    readonly attempt: number;
    readonly at: Instant;
    readonly cost: Json;
  }[];
}

export interface SpendingReport {
  readonly period: string;
  readonly usd_micros: number;
  readonly credits: number;
  readonly tokens_in: number;
  readonly tokens_out: number;
}

/** A limit and how much of it is used. */
export interface BudgetView {
  readonly of: "budget" | "rate";
  readonly unit: LimitUnit;
  readonly per: string;
  /** The tool that the limit applies to. Null: all tools, or those that the rule matches. */
  readonly tool: string | null;
  /** The policy rule that sets the limit. Null: it comes from settings. */
  readonly rule: string | null;
  readonly limit: number;
  /** The amount spent, plus what is reserved for calls that are running or in doubt. */
  readonly used: number;
  readonly left: number;
  /** Null: the limit applies to each call separately. */
  readonly tally: string | null;
  readonly window: TimeWindow | null;
  /** The expected use at the end of the window at the current pace. Null: the window has no end or has just begun. */
  readonly forecast: number | null;
  /** When the limit is used up at the current pace. Null: not before the window ends. */
  readonly exhausted_at: Instant | null;
  /** The highest of 80, 90 and 100 percent that is reached. Null: less than 80 percent is used. */
  readonly alert: 80 | 90 | 100 | null;
}

export interface AuditReport {
  readonly runs: number;
  readonly events: number;
  readonly erased: number;
  /** The first problem found in each broken run. */
  readonly broken: readonly { readonly run_id: RunId; readonly position: number; readonly what: string }[];
  /** Stored rows that no event explains. Only an audit of the whole tenant looks for them. */
  readonly rows: readonly { readonly table: string; readonly key: string; readonly what: string }[];
  /** Tallies that differ from the sum of the charges in events. Only an audit of the whole tenant checks them. */
  readonly tallies: readonly { readonly tally: string; readonly used: number; readonly charged: number }[];
}

export interface ServeOptions {
  readonly signal?: AbortSignal;
}

/** The public API of an engine. */
export interface Engine extends EngineLists {
  submit(plan: unknown, options: AbortableSubmitOptions): Promise<RunHandle>;
  /** Makes one tool call as a run of one step. The tool is the one that this engine has under the name. */
  call<Called extends Tool>(
    tool: Called,
    input: InputOf<Called>,
    options: SubmitOptions,
  ): Promise<CallResult<OutputOf<Called>>>;
  call(tool: string, input: Json, options: SubmitOptions): Promise<CallResult>;
  run(runId: string, options: PrincipalOptions): Promise<RunHandle>;
  /** Returns the open run of a session: the agent proposes its calls one by one. One session has one open run. */
  openRun(options: OpenRunOptions): Promise<OpenRun>;
  /** Sessions that are opened and closed by name. */
  readonly sessions: NamedSessions;
  /** Reports how work ended that a host began with `beginCall`, from any process. Only the token gives this right. */
  endCall(token: string, options: PrincipalOptions & HostReport): Promise<CallAnswer>;
  /** Checks a plan without running it. */
  check(plan: unknown, options?: CheckOptions): PlanReport;
  simulate(
    plan: unknown,
    options: Omit<SubmitOptions, "retryFailed"> & { readonly reads?: "recorded" | "none" | "live" },
  ): Promise<Simulation>;

  /** Returns the state of a project or of a run: the latest, at a version, or at a time. */
  state(options: PrincipalOptions & StateSelector & StateVersionSelector): Promise<StateView>;
  readonly checkpoints: Checkpoints;
  /** The history of projects, and whether they are open. */
  readonly projects: ProjectApi;

  /** Sends a signal. If no step waits for it yet, the signal is stored for the first step that does. */
  signal(key: string, payload: Json, options: SignalOptions): Promise<SignalReception>;

  /** Plans that are submitted at set times. */
  readonly schedules: Schedules;

  /** The tools of this engine. They can be registered and removed while the engine runs. */
  readonly tools: EngineTools;

  readonly policies: TenantPolicies;

  /** Halts stop new calls of one run, of a tenant, or of everything. */
  readonly halts: Halts;

  /** Approves a held call. The call runs once it has as many approvals as the gate demands. */
  approve(gateId: string, options: ApproveOptions): Promise<void>;
  /** Rejects a held call. One rejection is enough. */
  reject(gateId: string, options: RejectOptions): Promise<void>;
  resolve(runId: string, stepId: string, options: ResolveOptions): Promise<void>;
  resume(runId: string, options: ReasonOptions): Promise<RunHandle>;
  /** Undoes the acts of a run, latest first, as far as tools can. Records and returns the outcome of each. */
  undo(runId: string, options: ReasonOptions): Promise<readonly UndoneAct[]>;
  /** Asks verifiers whether the recorded acts of a run are still in effect. An act in doubt is not among them. */
  verify(runId: string, options: ReasonOptions): Promise<readonly VerifiedAct[]>;

  gate(gateId: string, options: PrincipalOptions): Promise<GateView>;
  /** Returns an outcome with its output, by the id that results and lists have. */
  outcome(outcomeId: string, options: PrincipalOptions): Promise<OutcomeWithOutput>;
  /** Returns the ledger row of an act and its receipt, by the key that its handler got (`context.key`) first. */
  act(key: string, options: PrincipalOptions): Promise<ActReport>;
  /** Lists the live workers, the runs of the tenant that each leases now, and the runs that no worker continues. */
  workers(options: PrincipalOptions): Promise<WorkersReport>;
  cost(runId: string, options: PrincipalOptions): Promise<CostReport>;
  /** Returns the spending of a principal on a day (YYYY-MM-DD), or of the tenant or a project in a month (YYYY-MM). */
  spent(
    options: PrincipalOptions & { readonly period: string; readonly by?: string; readonly project?: string },
  ): Promise<SpendingReport>;
  /** Returns the spending of each principal on each day of a range. */
  spentByDay(options: SpentByDayOptions): Promise<SpentByDay>;
  /** Returns the use of each limit of the tenant and the principal (or `by`), and of a run or project if named. */
  budgets(
    options: PrincipalOptions & { readonly by?: string; readonly project?: string; readonly runId?: string },
  ): Promise<readonly BudgetView[]>;
  audit(options: PrincipalOptions & { readonly runId?: string }): Promise<AuditReport>;
  /** Erases the event bodies of runs that ended before a time. Keeps hashes, ledger and receipts. Agents cannot. */
  /**
   * Closes a session and erases its runs, with the rules of `retain`. A run with an act in flight or in doubt is erased
   * when the act is settled.
   */
  forget(options: ForgetOptions): Promise<RetentionReport>;
  retain(options: ReasonOptions & { readonly endedBefore: Instant | number }): Promise<RetentionReport>;
  /** Lists the retentions of the tenant, newest first: who erased, when, why and how much. */
  retentions(options: PrincipalOptions): Promise<readonly RetentionRecord[]>;
  /** Copies the store to a new file while it is in use, audits the copy, and then names it. Only a SQLite store can. */
  backup(file: string, options: ReasonOptions): Promise<BackupReport>;
  /** Lists the backups of the tenant and their restores, newest first. */
  backups(options: PrincipalOptions): Promise<readonly BackupRecord[]>;
  /**
   * Treats the store as a backup that was restored, for the tenant of the principal: begins a new incarnation, parks
   * every run that had not ended, holds their acts, and pauses all schedules. Only a person can. No worker may run.
   */
  adoptBackup(options: AdoptOptions): Promise<AdoptReport>;
  /**
   * Keeps the process alive and executes due runs until the signal aborts or the engine is closed. Resolves when the
   * running handlers have ended and the store is closed.
   */
  serve(options?: ServeOptions): Promise<void>;
  /** Returns how often each observer has thrown. */
  observers(): readonly ObserverReport[];
  /** Returns the principal of a credential, for the options of the other methods. Needs the option `authenticate`. */
  authenticate(options: { readonly credential: string }): Promise<PrincipalInput>;
  /** Stops claiming runs, waits for running handlers to end, and closes the store. */
  close(): Promise<void>;
}
