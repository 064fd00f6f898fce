import type { Demand } from "../core/demand.ts";
import type { Mode } from "../core/effect.ts";
import type { Event, Notice, UndoneAct } from "../core/event.ts";
import type { Fault } from "../core/fault.ts";
import type { Guard } from "../core/guard.ts";
import type { Instant, RunId, StepId, WorkerId } from "../core/id.ts";
import type { Json, JsonObject } from "../core/json/json.ts";
import type { Budget, Estimate, Rate, Unit } from "../core/limits/budget.ts";
import type { Resource } from "../core/resource.ts";
import type { OpenGate, RunResult } from "../core/result.ts";
import type { GateRow, RunRow, ScheduleRow } from "../core/rows.ts";
import type { Spent } from "../core/run.ts";
import type { Difference } from "../core/state/difference.ts";
import type { Slice } from "../core/state/slice.ts";
import type { ClaimTerms, Store } from "../core/store.ts";
import type { Clock, Dice, Stopwatch, Timers } from "../core/time/clock.ts";
import type { Window } from "../core/time/window.ts";
import type { Tool } from "../core/tool.ts";
import type { Exchange } from "../core/transcript.ts";
import type { As, CallResult, Reasoned, SubmitOptions } from "./asking.ts";
import type { ProjectDesk } from "./desk/project-api.ts";
import type { CheckpointAt, CheckpointDiff, CheckpointView, StateOf, StateView, StateWhen } from "./desk/state-api.ts";
import type { StateSnapshot } from "./desk/state-snapshot.ts";
import type { Failpoints } from "./failpoint.ts";
import type { Durability, Limits } from "./ports.ts";
import type { Halts } from "./rules/halt-api.ts";
import type { NewId } from "./system.ts";
import type { TenantSettings } from "./watch/tenants.ts";

export type { As, CallResult, PrincipalInput, Reasoned, SubmitOptions } from "./asking.ts";

export interface EngineOptions {
  /** Or the promise of one, from a store that has to be connected to first. */
  readonly store: Store | Promise<Store>;
  readonly tools: readonly Tool[];
  /** The parts of a project's state, made by defineSlice. */
  readonly slices?: readonly Slice[];
  /** What tools change beside the journal, by the name they have for it. */
  readonly resources?: Readonly<Record<string, Resource>>;
  readonly tenants?: Readonly<Record<string, TenantSettings>>;
  /** What may be spent, and how often something may be called, by each tenant; `tenants` has more of one. */
  readonly budgets?: readonly Budget[];
  readonly rates?: readonly Rate[];
  /** Whose days and months budgets count, by IANA name. Default: UTC. */
  readonly zone?: string;
  /** More guards, put behind the standing ones. */
  readonly guards?: readonly Guard[];
  /** Policies as JSON, each with the scope it is for. What is refused by one is refused, whatever others say. */
  readonly policies?: readonly unknown[];
  /** False: submit, decide and look, but execute nothing here. */
  readonly work?: boolean;
  /** Which runs it takes when it works: all of them, as many as there are, unless said. */
  readonly worker?: ClaimTerms;
  /** Demand that plans say effects, tags, cache policy and idempotency template literally. */
  readonly strictPlans?: boolean;
  /** What `context.random` is made from, beside the call. Workers of one store say the same, or a call that is made again meets other chance. */
  readonly seed?: string;
  readonly durability?: Durability;
  readonly limits?: Partial<Limits>;
  readonly onNotice?: (notice: Notice & { readonly run_id: RunId }) => Promise<void>;
  readonly clock?: Clock;
  /** What tells that this process stood still. */
  readonly stopwatch?: Stopwatch;
  readonly timers?: Timers;
  readonly dice?: Dice;
  readonly newId?: NewId;
  readonly failpoint?: Failpoints;
}

export interface SignalOptions extends As {
  /** What the sender calls this signal: sent again under the same id, it is the same one. */
  readonly id?: string;
}

export interface ScheduleOptions extends Omit<SubmitOptions, "requestKey" | "correlationId" | "traceId"> {
  /** Minute, hour, day of the month, month and weekday. */
  readonly cron: string;
  /** Whose clocks they are of, by IANA name. Default: UTC. */
  readonly zone?: string;
  /** What is made up for when nobody was there: all of the last week, the latest (default), or none. */
  readonly catchUp?: ScheduleRow["catch_up"];
}

/** Standing orders of a tenant, by name. What was submitted is not called back by pausing or removing its schedule. */
export interface Schedules {
  /** Submits the plan as this principal whenever it is time, from now on, whatever the schedule said before. */
  set(schedule: string, plan: unknown, options: ScheduleOptions): Promise<ScheduleRow>;
  pause(schedule: string, options: As): Promise<void>;
  /** Goes on with what comes next; nothing is made up for. */
  resume(schedule: string, options: As): Promise<void>;
  remove(schedule: string, options: As): Promise<void>;
  list(options: As): Promise<readonly ScheduleRow[]>;
}

/** Where a policy of a tenant is in force. Default: everywhere. */
export interface PolicyPlace {
  readonly project?: string;
  readonly session?: string;
}

/** Policies that a tenant has put on record, beside those that the engine was opened with. Only a person changes them. */
export interface TenantPolicies {
  /** From now on, in place of one of that name and scope. Its scope names the tenant. */
  set(document: unknown, options: As): Promise<void>;
  remove(name: string, options: As & PolicyPlace): Promise<void>;
  list(options: As): Promise<readonly JsonObject[]>;
}

/** What became of a signal: someone waited for it, it waits for someone, or it had been sent before. */
export type Reception = "delivered" | "kept" | "duplicate";

export interface RejectOptions extends Reasoned {
  /** Of the call that was looked at, as the gate shows it. If the gate holds another, nothing is decided. */
  readonly digest?: string;
}

export interface ApproveOptions extends RejectOptions {
  /** Approves the call with this input instead: another call, which the guards judge like any. */
  readonly input?: Json;
}

/** How a person settles an act in doubt, or has its tool's verifier look at it once more. */
export type ResolveOptions = Reasoned & {
  /** The attempt that was looked at, as the result shows it. If there is another by now, nothing is settled. */
  readonly attempt?: number;
} & (
    | { readonly as: "happened"; readonly output: Json }
    | { readonly as: "absent" }
    | { readonly as: "undo" }
    | { readonly as: "give_up" }
    | { readonly as: "verify" }
  );

/** A result before the run has come to rest. */
export interface RunNow extends RunResult {
  readonly running: boolean;
  /** False: some of it survives the process but, as far as is known here, not yet the machine. */
  readonly durable: boolean;
}

/** One event with its place in the journal. */
export interface RecordedEvent {
  readonly position: number;
  readonly event: Event;
  /** False: as far as is known here, it survives the process but not yet the machine. */
  readonly durable: boolean;
}

export interface RunHandle {
  readonly run_id: RunId;
  /** True: an earlier submission with the same request key is this run. */
  readonly attached: boolean;
  /** Returns when the run can go no further by itself. */
  result(): Promise<RunResult>;
  /** Returns when the run has ended for good. */
  finished(): Promise<RunResult>;
  /** What is known now, without waiting. */
  now(): Promise<RunNow>;
  /** The journal so far; with `follow`, what is still to come until the run has ended. */
  events(options?: {
    readonly after?: number;
    readonly follow?: boolean;
    readonly signal?: AbortSignal;
  }): AsyncIterable<RecordedEvent>;
  /** What was asked of its tools so far and what they answered, in order, as the journal tells it. */
  transcript(): Promise<readonly Exchange[]>;
  cancel(options?: { readonly reason?: string }): Promise<void>;
}

export interface Page {
  readonly limit?: number;
  readonly after?: string;
}

export interface GateView extends OpenGate {
  readonly run_id: RunId;
  readonly status: GateRow["status"];
  readonly requester: string;
}

/** A gate whose call cannot be shown, because the journal of its run cannot be read. */
export type HiddenGate = Pick<
  GateView,
  "gate_id" | "step_id" | "tool" | "digest" | "expires_at" | "run_id" | "status" | "requester"
> & { readonly fault: Fault };

/** A worker, and the runs in its hands. */
export interface WorkerView {
  readonly worker: WorkerId;
  readonly runs: readonly {
    readonly run_id: RunId;
    /** Null: it has nothing left to do, and is about to be let go. */
    readonly queue: string | null;
    /** When the worker took it. */
    readonly since: Instant;
    /** When others may take it, unless the worker renews its lease. */
    readonly until: Instant;
  }[];
}

export interface CostReport {
  readonly run_id: RunId;
  readonly spent: Spent;
  readonly attempts: readonly {
    readonly step_id: StepId;
    readonly attempt: number;
    readonly at: Instant;
    readonly cost: Json;
  }[];
}

export interface SpentOver {
  readonly period: string;
  readonly usd_micros: number;
  readonly credits: number;
  readonly tokens_in: number;
  readonly tokens_out: number;
}

/** How a limit stands for someone. */
export interface BudgetView {
  readonly of: "budget" | "rate";
  readonly unit: Unit;
  readonly per: string;
  /** Null: whatever is called, or what the rule is for. */
  readonly tool: string | null;
  /** The rule of a policy that says so; null: a setting. */
  readonly rule: string | null;
  readonly limit: number;
  /** What was spent, and what is reserved for what is under way or in doubt. */
  readonly used: number;
  readonly left: number;
  /** Null: it is for each call by itself. */
  readonly tally: string | null;
  readonly window: Window | null;
  /** What will be used when the window ends, if it goes on as it has so far; null: it has no end, or has hardly begun. */
  readonly forecast: number | null;
  /** When nothing is left, at this pace; null: not before it counts anew. */
  readonly exhausted_at: Instant | null;
  /** How far it is used up: past 80, 90 or all of its 100 percent; null: not so far. */
  readonly alert: 80 | 90 | 100 | null;
}

export interface AuditReport {
  readonly runs: number;
  readonly events: number;
  readonly erased: number;
  /** The first thing found wrong in each broken run. */
  readonly broken: readonly { readonly run_id: RunId; readonly position: number; readonly what: string }[];
  /** Tallies that are not the sum of what the events charged. Asked of the whole tenant only. */
  readonly tallies: readonly { readonly tally: string; readonly used: number; readonly charged: number }[];
}

/** What retention erased. */
export interface Retained {
  readonly runs: number;
  readonly events: number;
  /** Runs that were left as they are, because notices of theirs are still to be delivered. */
  readonly waiting: number;
  /** Pieces of state that were kept beside the journal for whoever comes cold, and that newer ones have made needless. */
  readonly snapshots: number;
}

/** What a plan would do. Nothing of it is written anywhere. */
export interface Simulation {
  readonly status: RunResult["status"] | "unknown";
  readonly steps: Readonly<Record<string, SimulatedStep>>;
  readonly acts: readonly {
    readonly step_id: StepId;
    readonly tool: string;
    readonly input: Json;
    readonly needs_approval: boolean;
    /** Whether its tool can undo it. */
    readonly reversible: boolean;
  }[];
  /** Whoever would have to say yes. The rest was rehearsed as though they did. */
  readonly gates: readonly SimulatedGate[];
  /** What would be different in the project's state. */
  readonly changes: readonly Difference[];
  /** What is certain to be spent, and what it may come to by what tools expect; null: nobody can tell. */
  readonly cost: { readonly least: Estimate; readonly most: Estimate | null };
}

export interface SimulatedGate {
  readonly step_id: StepId;
  readonly tool: string;
  readonly rule: string;
  readonly reason: string;
  readonly demand: Demand;
}

export type SimulatedStep =
  | { readonly would: "succeed"; readonly output: Json }
  /** `output`: what its tool says that it would answer. */
  | { readonly would: "act"; readonly input: Json; readonly needs_approval: boolean; readonly output?: Json }
  | { readonly would: "fail"; readonly fault: Fault }
  /** Something it depends on is only known once it has really run. */
  | { readonly would: "unknown"; readonly why: string };

/** Going back to how state and files were, without a change of what was: the record goes on. */
export interface Checkpoints {
  /** As far back as is kept, oldest first. */
  list(options: As & StateOf): Promise<readonly CheckpointView[]>;
  /** Makes state and files what they were, all or nothing, as a new version: its number is the answer. Logs stay unless told otherwise. */
  restore(at: CheckpointAt, options: Reasoned & { readonly preserveLogs?: boolean }): Promise<number>;
  /** Makes state what a snapshot says, by a run of its own. A slice that is gone or declared otherwise fails it (`SLICE_CHANGED`). */
  load(snapshot: StateSnapshot, options: SubmitOptions): Promise<CallResult>;
  /** What state and files differ in between two calls on one state. */
  diff(from: CheckpointAt, to: CheckpointAt, options: As): Promise<CheckpointDiff>;
  /**
   * A new run that goes on from there, with a state of its own: what was done before is done, what was acted after is met as
   * it is on record. It has the plan of the run it comes from, or another.
   */
  fork(at: CheckpointAt, options: ForkOptions): Promise<RunHandle>;
}

export interface ForkOptions extends As {
  readonly plan?: unknown;
  readonly mode?: Mode;
  /** There is one working tree. If calls have changed it since, it must be said whether it becomes what it was. */
  readonly files?: "restore" | "leave";
}

/** One straight road, seen from outside. */
export interface Engine {
  submit(plan: unknown, options: SubmitOptions): Promise<RunHandle>;
  /** One tool call as a run of one step. */
  call(tool: string, input: Json, options: SubmitOptions): Promise<CallResult>;
  run(runId: string, options: As): Promise<RunHandle>;
  /** Checks a plan without running it. */
  check(plan: unknown, options?: { readonly context?: JsonObject }): PlanReport;
  simulate(
    plan: unknown,
    options: SubmitOptions & { readonly reads?: "recorded" | "none" | "live" },
  ): Promise<Simulation>;

  /** A project's state, or that of a run that has its own: as it is now, at a version, or at a time. */
  state(options: As & StateOf & StateWhen): Promise<StateView>;
  readonly checkpoints: Checkpoints;
  /** Projects: their history, and whether they are open. */
  readonly projects: ProjectDesk;

  /** Sends what a step waits for. If none does yet, it is kept for the first that will. */
  signal(key: string, payload: Json, options: SignalOptions): Promise<Reception>;

  /** Plans that are submitted again and again. */
  readonly schedules: Schedules;

  readonly policies: TenantPolicies;

  /** The switch that stops everything, or one run. */
  readonly halts: Halts;

  /** A yes. The call is made once as many have said it as are asked for. */
  approve(gateId: string, options: ApproveOptions): Promise<void>;
  /** A no, which is enough. */
  reject(gateId: string, options: RejectOptions): Promise<void>;
  resolve(runId: string, stepId: string, options: ResolveOptions): Promise<void>;
  resume(runId: string, options: Reasoned): Promise<RunHandle>;
  /** Undoes the acts of a run as far as they can be, the latest first; what became of each is the answer, and on record. */
  undo(runId: string, options: Reasoned): Promise<readonly UndoneAct[]>;

  runs(options: As & Page & { readonly status?: string }): Promise<readonly RunRow[]>;
  /** Oldest first. A run that cannot be read hides its own calls, and nobody else's. */
  gates(options: As & Page): Promise<readonly (GateView | HiddenGate)[]>;
  gate(gateId: string, options: As): Promise<GateView>;
  /** Who holds which runs of the tenant at the moment, by worker. */
  workers(options: As): Promise<readonly WorkerView[]>;
  cost(runId: string, options: As): Promise<CostReport>;
  /** Spent by a principal on a day (YYYY-MM-DD), or by the tenant or one of its projects in a month (YYYY-MM). */
  spent(options: As & { readonly period: string; readonly by?: string; readonly project?: string }): Promise<SpentOver>;
  /** How each limit stands: those of the tenant and of who asks, or of `by`; of a run or a project if one is named. */
  budgets(
    options: As & { readonly by?: string; readonly project?: string; readonly runId?: string },
  ): Promise<readonly BudgetView[]>;
  audit(options: As & { readonly runId?: string }): Promise<AuditReport>;
  /** Erases the bodies of runs that ended before; keeps hashes, ledger and receipts. */
  retain(options: As & { readonly endedBefore: Instant | number }): Promise<Retained>;
  /** Stops taking work, lets what runs come to its end, and closes the store. */
  close(): Promise<void>;
}

export interface PlanReport {
  readonly ok: boolean;
  readonly reasons: readonly { readonly path: string; readonly message: string }[];
  readonly warnings: readonly { readonly path: string; readonly message: string }[];
}
