import type { Effect } from "../effect.ts";
import type { StepId } from "../id.ts";
import type { Json, JsonObject } from "../json/json.ts";
import type { CachePolicy } from "../tool.ts";

/** Work as data, normalised: what a step left out was taken from its tool. This is what is stored and run. */
export interface Plan {
  readonly plan_id: string | null;
  readonly schema_version: "1.0";
  readonly intent_id: string | null;
  readonly steps: readonly PlanStep[];
}

/** The plan with its steps as the journal keeps them. */
export type LeanPlan = Omit<Plan, "steps"> & { readonly steps: readonly LeanStep[] };

export type StepKind = "operator" | "assertion" | "wait" | "run";

export interface PlanStep {
  readonly step_id: StepId;
  readonly kind: StepKind;
  /** The tool, for an operator. */
  readonly name: string;
  readonly payload: JsonObject;
  /** The worst of what the plan and the tool say. */
  readonly effect: Effect;
  readonly policy_tags: readonly string[];
  readonly gate: "none" | "human_confirm";
  readonly cache_policy: CachePolicy;
  readonly idempotency_template: string | null;
  /** Step ids, explicit ones and those that bindings, preconditions and declared state imply, without repetition. */
  readonly depends_on: readonly StepId[];
  readonly bindings: Readonly<Record<string, Binding>>;
  readonly on_failure: "abort" | "skip" | "retry";
  readonly on_rejected: "stop" | "continue";
  /** Further tries after the first; null: by the kind of fault. */
  readonly retries: number | null;
  readonly timeout_ms: number | null;
  readonly preconditions: readonly Condition[];
  readonly outcome: { readonly type: string; readonly status: "draft" | "final" } | null;
  /** The places of state that it reads and writes, as JSON pointers; null: as its tool declares. */
  readonly state_reads: readonly string[] | null;
  readonly state_writes: readonly string[] | null;
}

/** A step as the journal keeps it: what says nothing is left out, or a plan would weigh more than its results. */
export type LeanStep = Pick<PlanStep, "step_id" | "name" | "effect"> & Partial<PlanStep>;

const unsaid: Omit<PlanStep, "step_id" | "name" | "effect"> = {
  kind: "operator",
  payload: {},
  policy_tags: [],
  gate: "none",
  cache_policy: "never",
  idempotency_template: null,
  depends_on: [],
  bindings: {},
  on_failure: "abort",
  on_rejected: "stop",
  retries: null,
  timeout_ms: null,
  preconditions: [],
  outcome: null,
  state_reads: null,
  state_writes: null,
};

export function lean(step: PlanStep): LeanStep {
  const { step_id, name, effect } = step;
  const said: Record<string, unknown> = { step_id, name, effect };
  for (const key of unsaidKeys) if (saysSomething(step[key], unsaid[key])) said[key] = step[key];
  return said as LeanStep;
}

const unsaidKeys = Object.keys(unsaid) as (keyof typeof unsaid)[];

/** What says nothing is null, a word or nothing in a list or an object; where it is null, an empty list says something. */
function saysSomething(said: PlanStep[keyof PlanStep], nothing: PlanStep[keyof PlanStep]): boolean {
  if (said === nothing || nothing === null) return said !== nothing;
  return typeof said !== "object" || said === null || !isEmpty(said);
}

function isEmpty(said: object): boolean {
  for (const key in said) if (Object.hasOwn(said, key)) return false;
  return true;
}

/** Field by field: laying one object over another takes three times as long, and a plan may have ten thousand steps. */
export function full(step: LeanStep): PlanStep {
  return {
    step_id: step.step_id,
    kind: step.kind ?? unsaid.kind,
    name: step.name,
    payload: step.payload ?? unsaid.payload,
    effect: step.effect,
    policy_tags: step.policy_tags ?? unsaid.policy_tags,
    gate: step.gate ?? unsaid.gate,
    cache_policy: step.cache_policy ?? unsaid.cache_policy,
    idempotency_template: step.idempotency_template ?? unsaid.idempotency_template,
    depends_on: step.depends_on ?? unsaid.depends_on,
    bindings: step.bindings ?? unsaid.bindings,
    on_failure: step.on_failure ?? unsaid.on_failure,
    on_rejected: step.on_rejected ?? unsaid.on_rejected,
    retries: step.retries ?? unsaid.retries,
    timeout_ms: step.timeout_ms ?? unsaid.timeout_ms,
    preconditions: step.preconditions ?? unsaid.preconditions,
    outcome: step.outcome ?? unsaid.outcome,
    state_reads: step.state_reads ?? unsaid.state_reads,
    state_writes: step.state_writes ?? unsaid.state_writes,
  };
}

/** What sender and waiter call the signal between them. Ends of runs are signals, too, and nobody else's. */
export const signalKey = /^(?!run:)[^\p{Cc}\p{Cs}]{1,200}$/u;

/** Where a value of the payload comes from: the output of an earlier step, by JSON pointer, in a single pass. */
export interface Binding {
  readonly step: StepId;
  readonly path: string;
  readonly as: "value" | "sha256";
}

/** A claim about the output of an earlier step. What cannot be compared does not hold. */
export interface Condition {
  readonly step: StepId;
  readonly path: string;
  readonly operator: "eq" | "neq" | "gt" | "lt" | "gte" | "lte" | "exists" | "not_exists" | "contains";
  readonly value: Json;
}

/** Every limit on a plan has a name. */
export const planLimits = {
  steps: 10_000,
  bytes: 4 * 1024 * 1024,
  depth: 64,
  nodes: 500_000,
  idLength: 64,
  dependencies: 100_000,
  templateLength: 1024,
  timeoutMs: 24 * 60 * 60 * 1000,
  waitMs: 366 * 24 * 60 * 60 * 1000,
  retries: 20,
} as const;
