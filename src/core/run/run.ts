import type { Demand, Vote } from "../approval/approval-demand.ts";
import type { Principal } from "../approval/principal.ts";
import type { Preview } from "../approval/result-preview.ts";
import type { Basis } from "../approval/verdict-basis.ts";
import type { RestoredRun } from "../event/backup-restore.ts";
import type { DuplicateAct } from "../event/duplicate-act.ts";
import type { Call, Confirmation, EndStatus, Notice } from "../event/event.ts";
import type { NamedAct } from "../event/left-act.ts";
import type { EarlierAct } from "../event/model-call.ts";
import type { ParentStep } from "../event/parent-step.ts";
import type { RollbackCause } from "../event/run-rolling-back.ts";
import type { RunRules } from "../event/run-rules.ts";
import type { RunClosed, SessionSegment } from "../event/session.ts";
import type { Request } from "../event/signal.ts";
import type { Simulation } from "../event/simulation.ts";
import type { Takeover } from "../event/takeover.ts";
import type { ToolPin } from "../event/tool-pin.ts";
import type { CostEstimate, RunBudgets } from "../limits/budget.ts";
import { StepIndex } from "../persistent/step-index.ts";
import { TrieMap } from "../persistent/trie-map.ts";
import { emptyVector, type Vector } from "../persistent/vector.ts";
import { WakeupHeap } from "../persistent/wakeup-heap.ts";
import type { Plan } from "../plan/plan.ts";
import { NO_ORDER, type PlanOrder } from "../plan/plan-order.ts";
import type { ForkOrigin } from "../state/state-change.ts";
import { defaultQueue } from "../store/select-fairly.ts";
import type { AskedValue } from "../tool/asked-data.ts";
import type { Cost } from "../tool/tool.ts";
import { assert } from "../values/assert.ts";
import type { Mode } from "../values/effect.ts";
import type { Fault } from "../values/fault.ts";
import type { GateId, Instant, RunId, StepId, Tenant } from "../values/ids.ts";
import type { JsonObject } from "../values/json.ts";
import type { Conversation } from "./conversation.ts";
import type { Parked } from "./parked-run.ts";
import type { Replanning } from "./replanning.ts";
import { emptyListing, type RunListing } from "./run-summary.ts";
import type { Step, StepPace } from "./step.ts";

export type { Step } from "./step.ts";

/** The state of one run, folded from its events. It is never stored. */
export interface Run {
  readonly id: RunId;
  readonly tenant: Tenant;
  readonly origin: RunId;
  readonly principal: Principal;
  readonly mode: Mode;
  readonly plan: Plan | null;
  readonly context: JsonObject;
  readonly request: Request | null;
  /** Null if no step of another run started it. */
  readonly parent: ParentStep | null;
  /** The project whose state the run uses. If null, the run uses the state of its origin. */
  readonly project: string | null;
  readonly session: string | null;
  /** Null unless it is the run of a session. */
  readonly opened: SessionSegment | null;
  readonly forked: ForkOrigin | null;
  readonly terms: RunTerms;
  /** By resource, the host that it was changed on. The run continues only on that host. */
  readonly bound: Readonly<Record<string, string>>;
  readonly tools: Readonly<Record<string, ToolPin>>;
  /** The static rules that the run is executed under. Null for a run of an older version. */
  readonly rules: RunRules | null;
  readonly deadline_at: Instant | null;
  readonly queue: string;
  readonly priority: number;
  readonly accepted_at: Instant;
  readonly correlation_id: string;
  readonly trace_id: string;
  /** The number of events of the run. */
  readonly position: number;
  /** Steps may still be proposed. */
  readonly open: boolean;
  /** Null until the caller has closed an open run. */
  readonly closed: Pick<RunClosed, "as" | "reason" | "continues"> | null;
  /** A worker holds the open run for more calls. If it dies, any worker may take the run over. */
  readonly driven: boolean;
  /** By the key of the name that the agent gave a call, the index of its step. */
  readonly calls: TrieMap<number>;
  /** The calls whose answers were handed to the clients that asked for them, by step id. */
  readonly delivered: TrieMap<true>;
  /** Null until a model call is proposed, unless a branch above has left acts. */
  readonly conversation: Conversation | null;
  readonly steps: Vector<Step>;
  readonly index: StepIndex;
  readonly order: PlanOrder;
  readonly gates: TrieMap<Gate>;
  /** Ids of the steps that wait for a person, a signal, another run or a time, including retries. */
  readonly waiting: TrieMap<true>;
  /** Ids of the steps whose tool was missing or had changed since the run was accepted. */
  readonly parkedForTools: TrieMap<true>;
  /** The data for lists. */
  readonly listing: RunListing;
  /** When waiting steps are due. The first entry is valid; a stale entry is removed when it becomes the first. */
  readonly wakeups: WakeupHeap;
  readonly paces: Readonly<Record<StepPace, number>>;
  /** The number of steps that have succeeded. Undo steps do not count. */
  readonly succeeded: number;
  readonly cancel: { readonly by: string; readonly reason: string } | null;
  /** Null: the run has no other plan than the one that it was accepted with, and no replanner. */
  readonly replanning: Replanning | null;
  /** The step that ended the plan. Until the run is resumed, only undo steps start. */
  readonly stopped: StepId | null;
  /** Why an atomic plan is rolled back. Null if it has not aborted. */
  readonly rollback: (RollbackCause & { readonly since: Instant }) | null;
  /** The takeovers since the last progress of the run. */
  readonly takeovers: readonly Takeover[];
  /** The latest restore of a backup that contained the run, or a run that it continues. A person approves its acts. */
  readonly restored: RestoredRun | null;
  /** The runs of the held requests that have restored a checkpoint of this run, released it, or undone its acts. */
  readonly executedRequests: readonly RunId[];
  /** If not null, the run is parked: no step starts until a person resumes it. */
  readonly parked: Parked | null;
  /** `as` is present if the run failed and nothing of it ran, because it was refused. */
  readonly ended: { readonly status: EndStatus; readonly at: Instant; readonly as?: "rejected" } | null;
  /** If not null, the run has ended and is only a record: nothing of it ran, and it cannot be resumed. */
  readonly recordOf: RunRecord | null;
  /**
   * `wanted`: the tool of an act demands that the act is confirmed before a continued run relies on it. `resumed` and
   * `verified`: the positions of the last such events, or 0.
   */
  readonly confirmations: { readonly wanted: boolean; readonly resumed: number; readonly verified: number };
  readonly spent: RunSpending;
  /** The tools that were called so far, and the policy tags of the steps that called them. */
  readonly called: { readonly tools: TrieMap<true>; readonly tags: TrieMap<true> };
  /** The notices that are not delivered yet. */
  readonly notices: TrieMap<Notice>;
  /** The number of undelivered notices to other runs. */
  readonly pendingRunNotices: number;
  /** Indices of the steps that the last event made ready. */
  readonly fresh: readonly number[];
  /** Open gates whose step stopped waiting with the last event. */
  readonly abandonedGates: readonly GateId[];
}

/** The request that a run only records: one that was refused, or a dry run. */
export type RunRecord =
  | { readonly of: "refusal"; readonly fault: Fault }
  | { readonly of: "dry_run"; readonly simulation: Simulation };

/**
 * The copy of a run that `evolve` makes for one event. Functions change it in place and return it, and no other code
 * refers to it. A new copy for every change would be most of the cost of a step.
 */
export type MutableRun = { -readonly [Field in keyof Run]: Run[Field] } & { fresh: number[] };

/**
 * Copies field by field. With `{ ...run }`, each copy of a copy gets its own hidden class, until V8 falls back to
 * dictionary mode, which is ten times as slow and uses eight times as much memory.
 */
export const copyRun = (run: Run): MutableRun => ({
  id: run.id,
  tenant: run.tenant,
  origin: run.origin,
  principal: run.principal,
  mode: run.mode,
  plan: run.plan,
  context: run.context,
  request: run.request,
  parent: run.parent,
  project: run.project,
  session: run.session,
  opened: run.opened,
  forked: run.forked,
  terms: run.terms,
  bound: run.bound,
  tools: run.tools,
  rules: run.rules,
  deadline_at: run.deadline_at,
  queue: run.queue,
  priority: run.priority,
  accepted_at: run.accepted_at,
  correlation_id: run.correlation_id,
  trace_id: run.trace_id,
  position: run.position,
  open: run.open,
  closed: run.closed,
  driven: run.driven,
  calls: run.calls,
  delivered: run.delivered,
  conversation: run.conversation,
  steps: run.steps,
  index: run.index,
  order: run.order,
  gates: run.gates,
  waiting: run.waiting,
  parkedForTools: run.parkedForTools,
  listing: run.listing,
  wakeups: run.wakeups,
  paces: run.paces,
  succeeded: run.succeeded,
  cancel: run.cancel,
  replanning: run.replanning,
  stopped: run.stopped,
  rollback: run.rollback,
  takeovers: run.takeovers,
  restored: run.restored,
  executedRequests: run.executedRequests,
  parked: run.parked,
  ended: run.ended,
  recordOf: run.recordOf,
  confirmations: run.confirmations,
  spent: run.spent,
  called: run.called,
  notices: run.notices,
  pendingRunNotices: run.pendingRunNotices,
  fresh: [],
  abandonedGates: run.abandonedGates,
});

/** A held call. Exactly the call that is shown and hashed here is executed. */
export interface Gate extends NamedAct {
  readonly gate_id: GateId;
  readonly step_id: StepId;
  readonly status: "open" | "approved" | "rejected" | "expired" | "closed" | "consumed";
  readonly version: number;
  readonly call: Call;
  readonly rule: string;
  readonly reason: string;
  readonly demand: Demand;
  readonly duplicate_of: DuplicateAct | null;
  readonly earlier?: readonly EarlierAct[];
  readonly opened_at: Instant;
  readonly expires_at: Instant;
  /** The time until which the approval can be used. Null until the gate is approved. */
  readonly use_by: Instant | null;
  readonly decided_by: string | null;
  /** The approvals of this call so far, one per person. */
  readonly votes: readonly Vote[];
  /** The time of the last escalation to more approvers. Null if there was none. */
  readonly escalated_at: Instant | null;
  readonly estimate?: CostEstimate;
  readonly reversible?: boolean;
  readonly covers?: "compensation";
  readonly preview?: Preview;
  /** The values that the call lacks. The approval supplies them. */
  readonly asks_for?: readonly AskedValue[];
  readonly stale?: Fault;
  readonly basis?: Basis;
}

/** The terms that the caller set for the run. */
export interface RunTerms {
  /** Null if the caller confirmed no step in advance. */
  readonly confirmed: Confirmation | null;
  /** Null if the submission set no budgets. */
  readonly budgets: RunBudgets | null;
}

const NO_TERMS: RunTerms = { confirmed: null, budgets: null };

/** The cost of all attempts of the run so far, including failed ones. */
export type RunSpending = Omit<Cost, "model"> & { readonly attempts: number };

const NOTHING_SPENT: RunSpending = { usd_micros: 0, credits: 0, tokens_in: 0, tokens_out: 0, attempts: 0 };

/** A run before its first event. */
export const emptyRun = (id: RunId, tenant: Tenant): Run => ({
  id,
  tenant,
  origin: id,
  principal: { id: "", kind: "service", tenant },
  mode: "human_gated",
  plan: null,
  context: {},
  request: null,
  parent: null,
  project: null,
  session: null,
  opened: null,
  forked: null,
  terms: NO_TERMS,
  bound: {},
  tools: {},
  rules: null,
  deadline_at: null,
  queue: defaultQueue,
  priority: 0,
  accepted_at: 0 as Instant,
  correlation_id: "",
  trace_id: "",
  position: 0,
  open: false,
  closed: null,
  driven: false,
  calls: TrieMap.empty(),
  delivered: TrieMap.empty(),
  conversation: null,
  steps: emptyVector(),
  index: StepIndex.of([]),
  order: NO_ORDER,
  gates: TrieMap.empty(),
  waiting: TrieMap.empty(),
  parkedForTools: TrieMap.empty(),
  listing: emptyListing,
  wakeups: WakeupHeap.empty,
  paces: { moving: 0, retrying: 0, waiting: 0, blocked: 0, done: 0 },
  succeeded: 0,
  cancel: null,
  replanning: null,
  stopped: null,
  rollback: null,
  takeovers: [],
  restored: null,
  executedRequests: [],
  parked: null,
  ended: null,
  recordOf: null,
  confirmations: { wanted: false, resumed: 0, verified: 0 },
  spent: NOTHING_SPENT,
  called: { tools: TrieMap.empty(), tags: TrieMap.empty() },
  notices: TrieMap.empty(),
  pendingRunNotices: 0,
  fresh: [],
  abandonedGates: [],
});

export function findStep(run: Run, id: StepId): Step | undefined {
  const index = run.index.get(id);
  return index === undefined ? undefined : run.steps.get(index);
}

/** Returns the step with this id. The run must have it. */
export function getStep(run: Run, of: { readonly step_id: StepId }): Step {
  const step = findStep(run, of.step_id);
  assert(step !== undefined, "the run has the step of the event");
  return step;
}

/** Returns the key of the project of a run. A run without a project shares a key with the runs of its origin. */
export function runProjectKey({ project, origin }: Pick<Run, "project" | "origin">): string {
  return project === null ? `run:${origin}` : projectKey(project);
}

/** Returns the key of the state that a run uses: the state of its project, or for a fork its own state. */
export function runStateKey(run: Pick<Run, "id" | "project" | "origin" | "forked">): string {
  return run.forked === null ? runProjectKey(run) : `run:${run.id}`;
}

export function projectKey(project: string): string {
  return `project:${project}`;
}

export function outcomeId(run: RunId, step: StepId): string {
  return `out_${run.slice("run_".length)}_${step}`;
}

export type RunStatus = "running" | "waiting" | "rolling_back" | "open" | "closing" | "poison" | "restored" | EndStatus;

function parkedStatus(parked: Parked): RunStatus {
  if (parked.for === "restore") return "restored";
  return parked.for === "takeovers" ? "poison" : "waiting";
}

export function runStatus(run: Run): RunStatus {
  if (run.ended !== null) return run.ended.status;
  if (run.parked !== null) return parkedStatus(run.parked);
  if (run.rollback !== null) return "rolling_back";
  // An open run keeps this status until its end, so a call does not change the row of the run.
  if (run.plan === null) return run.open ? "open" : "closing";
  return isRunning(run) ? "running" : "waiting";
}

/** True if the run was cancelled or closed: only undos start, and acts that are in flight end. */
export function startsNoCalls({ cancel, closed }: Run): boolean {
  return cancel !== null || closed !== null;
}

/** True if a step of the run moves or is tried again. */
export function isRunning({ ended, parked, paces }: Run): boolean {
  return ended === null && parked === null && paces.moving + paces.retrying > 0;
}

/** Returns the steps whose tool was missing or had changed since the run was accepted. */
export function stepsParkedForTools(run: Run): readonly Step[] {
  return Array.from(run.parkedForTools, ([id]) => run.steps.get(run.index.get(id) as number));
}
