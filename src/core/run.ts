import { assert } from "./assert.ts";
import type { Basis } from "./basis.ts";
import { type Demand, escalatesAfter, type Poll, type Vote } from "./demand.ts";
import type { Mode } from "./effect.ts";
import type { Call, Confirmed, Duplicate, EndStatus, Notice, Parent, Pin, Takeover } from "./event.ts";
import type { Fault } from "./fault.ts";
import type { GateId, Instant, RunId, StepId, Tenant } from "./id.ts";
import type { JsonObject } from "./json/json.ts";
import type { Estimate } from "./limits/budget.ts";
import { StepIndex } from "./persistent/step-index.ts";
import { TrieMap } from "./persistent/trie-map.ts";
import { emptyVector, type Vector } from "./persistent/vector.ts";
import type { Plan } from "./plan/plan.ts";
import type { Poison } from "./poison.ts";
import type { Preview } from "./preview.ts";
import type { Principal } from "./principal.ts";
import type { Request } from "./signal.ts";
import type { Forked } from "./state/state-change.ts";
import type { Pace, Step } from "./step.ts";
import { Calendar } from "./time/calendar.ts";
import type { Cost } from "./tool.ts";
import { queueDefault } from "./turns.ts";

export type { Step } from "./step.ts";

/** Everything known about one run. It is never stored: it is what its events add up to. */
export interface Run {
  readonly id: RunId;
  readonly tenant: Tenant;
  readonly origin: RunId;
  readonly principal: Principal;
  readonly mode: Mode;
  readonly plan: Plan | null;
  readonly context: JsonObject;
  readonly request: Request | null;
  /** Null: nobody but its principal asked for it. */
  readonly parent: Parent | null;
  /** Whose state it works on; null: its origin's. */
  readonly project: string | null;
  readonly session: string | null;
  readonly forked: Forked | null;
  /** Null: nothing was said to be meant. */
  readonly confirmed: Confirmed | null;
  /** By resource, the host that it was changed on: from then on the run goes on there. */
  readonly bound: Readonly<Record<string, string>>;
  readonly tools: Readonly<Record<string, Pin>>;
  readonly deadline_at: Instant | null;
  readonly queue: string;
  readonly priority: number;
  readonly accepted_at: Instant;
  readonly correlation_id: string;
  readonly trace_id: string;
  /** How many events it has. 0: nothing has happened yet. */
  readonly position: number;
  /** Steps may still be proposed. */
  readonly open: boolean;
  readonly steps: Vector<Step>;
  readonly index: StepIndex;
  /** By step index: who waits for it. Only steps of the plan are waited for. */
  readonly dependents: readonly (readonly number[])[];
  readonly gates: TrieMap<Gate>;
  /** Ids of the steps that wait for someone or some time, retries included. */
  readonly waiting: TrieMap<true>;
  /** Ids of the steps whose tool was not there, or not the one they were accepted with. */
  readonly unserved: TrieMap<true>;
  /** When waiting steps have something to do again. The first is true; one that has gone on is taken out when it comes first. */
  readonly calendar: Calendar;
  readonly paces: Readonly<Record<Pace, number>>;
  /** How many steps have succeeded. Undoing something is no success of what was asked for. */
  readonly succeeded: number;
  readonly cancel: { readonly by: string; readonly reason: string } | null;
  /** The step that ended the plan. Nothing but an undo starts any more, until the run is resumed. */
  readonly stopped: StepId | null;
  /** Those who took the run from one that never let it go, since it last came further. */
  readonly takeovers: readonly Takeover[];
  /** Not null: it is parked, and nothing starts until a person resumes it. */
  readonly poison: Poison | null;
  readonly ended: { readonly status: EndStatus; readonly at: Instant } | null;
  readonly spent: Spent;
  /** The tools that were called so far, and the tags of the steps that called them. */
  readonly called: TrieMap<true>;
  readonly tagged: TrieMap<true>;
  /** Messages that nobody has delivered yet. */
  readonly notices: TrieMap<Notice>;
  /** How many of them are for other runs. */
  readonly kin: number;
  /** Indices of the steps that the last event made ready. */
  readonly fresh: readonly number[];
  /** Gates that nobody decided and whose step the last event took away from them. */
  readonly deserted: readonly GateId[];
}

/**
 * A run while one fact is written into it: the copy that `evolve` makes, which nobody else has seen. Whoever takes a draft
 * changes it and hands it back. A copy for every change would be most of what a step costs.
 */
export type MutableRun = { -readonly [Field in keyof Run]: Run[Field] } & { fresh: number[] };

/**
 * A draft of a run. Field by field: `{ ...run }` gives each copy of a copy a shape of its own, until the compiler gives up and
 * copies by looking every name up, ten times as slowly and into eight times the room.
 */
export function draftOf(run: Run): MutableRun {
  return {
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
    forked: run.forked,
    confirmed: run.confirmed,
    bound: run.bound,
    tools: run.tools,
    deadline_at: run.deadline_at,
    queue: run.queue,
    priority: run.priority,
    accepted_at: run.accepted_at,
    correlation_id: run.correlation_id,
    trace_id: run.trace_id,
    position: run.position,
    open: run.open,
    steps: run.steps,
    index: run.index,
    dependents: run.dependents,
    gates: run.gates,
    waiting: run.waiting,
    unserved: run.unserved,
    calendar: run.calendar,
    paces: run.paces,
    succeeded: run.succeeded,
    cancel: run.cancel,
    stopped: run.stopped,
    takeovers: run.takeovers,
    poison: run.poison,
    ended: run.ended,
    spent: run.spent,
    called: run.called,
    tagged: run.tagged,
    notices: run.notices,
    kin: run.kin,
    fresh: [],
    deserted: run.deserted,
  };
}

/** A held call. What was shown is what was hashed; what was hashed is what runs. */
export interface Gate {
  readonly gate_id: GateId;
  readonly step_id: StepId;
  readonly status: "open" | "approved" | "rejected" | "expired" | "closed" | "consumed";
  readonly version: number;
  readonly call: Call;
  readonly rule: string;
  readonly reason: string;
  readonly demand: Demand;
  readonly duplicate_of: Duplicate | null;
  readonly opened_at: Instant;
  readonly expires_at: Instant;
  /** How long a decided approval is good for; null until decided. */
  readonly use_by: Instant | null;
  readonly decided_by: string | null;
  /** Who said yes to this call so far, each once. */
  readonly votes: readonly Vote[];
  /** When others were last told that they may decide, too; null: nobody was. */
  readonly told_at: Instant | null;
  readonly estimate?: Estimate;
  readonly reversible?: boolean;
  readonly preview?: Preview;
  readonly stale?: Fault;
  readonly basis?: Basis;
}

/** What the votes on a gate are counted against. */
export function pollOf(run: Run, gate: Gate): Poll {
  return { demand: gate.demand, requester: requesterOf(run, stepOf(run, gate)), opened_at: gate.opened_at };
}

/** When something is due about a gate that nobody decides: others are told, or it expires. */
function gateDueAt(run: Run, gate: Gate): Instant {
  const told = escalatesAfter(pollOf(run, gate), gate.told_at ?? gate.opened_at);
  return told === null ? gate.expires_at : (Math.min(told, gate.expires_at) as Instant);
}

/** What the run has cost so far: the sum over its attempts, failed ones included. */
export type Spent = Omit<Cost, "model"> & { readonly attempts: number };

const NOTHING_SPENT: Spent = { usd_micros: 0, credits: 0, tokens_in: 0, tokens_out: 0, attempts: 0 };

/** A run before its first event. */
export function unbornRun(id: RunId, tenant: Tenant): Run {
  return {
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
    forked: null,
    confirmed: null,
    bound: {},
    tools: {},
    deadline_at: null,
    queue: queueDefault,
    priority: 0,
    accepted_at: 0 as Instant,
    correlation_id: "",
    trace_id: "",
    position: 0,
    open: false,
    steps: emptyVector(),
    index: StepIndex.of([]),
    dependents: [],
    gates: TrieMap.empty(),
    waiting: TrieMap.empty(),
    unserved: TrieMap.empty(),
    calendar: Calendar.empty,
    paces: { moving: 0, retrying: 0, waiting: 0, blocked: 0, done: 0 },
    succeeded: 0,
    cancel: null,
    stopped: null,
    takeovers: [],
    poison: null,
    ended: null,
    spent: NOTHING_SPENT,
    called: TrieMap.empty(),
    tagged: TrieMap.empty(),
    notices: TrieMap.empty(),
    kin: 0,
    fresh: [],
    deserted: [],
  };
}

export function findStep(run: Run, id: StepId): Step | undefined {
  const index = run.index.get(id);
  return index === undefined ? undefined : run.steps.get(index);
}

/** The step that a fact of this run is about. */
export function stepOf(run: Run, of: { readonly step_id: StepId }): Step {
  const step = findStep(run, of.step_id);
  assert(step !== undefined, "a fact of a run is about one of its steps");
  return step;
}

/** What a run belongs to: its project, or else what it and those that come from it have to themselves. */
export function projectOf({ project, origin }: Pick<Run, "project" | "origin">): string {
  return project === null ? `run:${origin}` : projectKey(project);
}

/** The key of the state that a run works on: its project's, but a fork has one of its own. */
export function stateKeyOf(run: Pick<Run, "id" | "project" | "origin" | "forked">): string {
  return run.forked === null ? projectOf(run) : `run:${run.id}`;
}

export function projectKey(project: string): string {
  return `project:${project}`;
}

/** Who asked for a step: its run's principal, but whoever wanted something undone for the undoing of it. */
export function requesterOf(run: Run, { cause }: Step): string {
  return cause?.by === "undo" ? cause.asked_by : run.principal.id;
}

/** One outcome per step that makes one. */
export function outcomeId(run: RunId, step: StepId): string {
  return `out_${run.slice("run_".length)}_${step}`;
}

export type Status = "running" | "waiting" | "poison" | EndStatus;

export function statusOf(run: Run): Status {
  if (run.ended !== null) return run.ended.status;
  if (run.poison !== null) return "poison";
  return run.paces.moving + run.paces.retrying > 0 ? "running" : "waiting";
}

/**
 * When any worker can move the run: since its acceptance while it moves or has word for other runs; else at its earliest timer;
 * null if it takes a person, or a worker that has what it needs (need.ts).
 */
export function dueAt(run: Run): Instant | null {
  const isOver = run.ended !== null || run.poison !== null;
  if (run.kin > 0 || (!isOver && run.paces.moving > 0)) return run.accepted_at;
  return isOver ? null : nextWake(run);
}

/** The earliest timer of the run; of one that is parked, none rings. */
export function nextWake(run: Run): Instant | null {
  return run.poison === null ? (run.calendar.first?.at ?? null) : null;
}

/** Steps whose tool was not there, or not the one they were accepted with. */
export function parkedForTools(run: Run): readonly Step[] {
  return Array.from(run.unserved, ([id]) => run.steps.get(run.index.get(id) as number));
}

/** When a waiting step has something to do again. */
export function wakeAt(run: Run, step: Step): Instant | null {
  const { standing } = step;
  switch (standing.state) {
    case "failed_retryable":
      return standing.retry_at;
    case "waiting_approval":
      return gateDueAt(run, run.gates.get(standing.gate_id) as Gate);
    case "waiting":
      return standing.on.for === "tool" ? null : standing.on.until;
    case "in_doubt":
      return standing.doubt.next.do === "look_again" ? standing.doubt.next.at : null;
    default:
      return null;
  }
}
