import type { AskedData } from "../tool/asked-data.ts";
import type { CachePolicy } from "../tool/tool.ts";
import type { Effect } from "../values/effect.ts";
import type { Fault } from "../values/fault.ts";
import type { RunId, StepId } from "../values/ids.ts";
import { nameForm } from "../values/is-name.ts";
import type { Json, JsonObject } from "../values/json.ts";
import type { StepKind } from "./step-kinds.ts";

/** A plan in its normal form, which is stored and run: absent fields of a step are taken from its tool. */
export interface Plan {
  readonly plan_id: string | null;
  readonly schema_version: "1.0";
  readonly intent_id: string | null;
  /** Present if the steps run one after another. Otherwise a step starts as soon as its dependencies have succeeded. */
  readonly sequential?: true;
  /** Present if the plan is whole or nothing: if it aborts, its acts are undone, and its state and files go back. */
  readonly atomicity?: "plan";
  readonly steps: readonly PlanStep[];
}

/** The plan as the journal stores it. */
export type LeanPlan = Omit<Plan, "steps"> & { readonly steps: readonly LeanStep[] };

export interface PlanStep {
  readonly step_id: StepId;
  readonly kind: StepKind;
  /** The tool, for an operator. */
  readonly name: string;
  readonly payload: JsonObject;
  /** The worse of the effects that the plan and the tool declare. */
  readonly effect: Effect;
  readonly policy_tags: readonly string[];
  readonly gate: "none" | "human_confirm";
  /** The values that a person supplies if the payload has none. With those of the tool. */
  readonly asks_for: AskedData;
  /** refresh: the call is made, and its output answers later calls in place of the recorded one. */
  readonly cache_policy: CachePolicy | "refresh";
  readonly idempotency_template: string | null;
  /** Step ids, explicit ones and those that bindings, preconditions and declared state imply, without repetition. */
  readonly depends_on: readonly StepId[];
  readonly bindings: Readonly<Record<string, PlanBinding>>;
  readonly on_failure: "abort" | "skip" | "retry";
  readonly on_rejected: "stop" | "continue";
  /** The number of retries; null: given by the fault table. */
  readonly retries: number | null;
  readonly timeout_ms: number | null;
  readonly preconditions: readonly Condition[];
  readonly outcome: { readonly type: string; readonly status: "draft" | "final" } | null;
  /** JSON pointers to the state that it reads and writes; null: as its tool declares. */
  readonly state_reads: readonly string[] | null;
  readonly state_writes: readonly string[] | null;
  /** Values that the state has after the step. They are set for a tool that writes no state, and checked for others. */
  readonly expected_effects: readonly Pick<StateCondition, "state" | "value">[];
  /** Why the step is rejected when its turn comes: it was not valid, and its plan permits that. Null for all others. */
  readonly invalid: Fault | null;
}

/** A step as the journal stores it: without defaults, because a plan would otherwise be larger than its results. */
export type LeanStep = Pick<PlanStep, "step_id" | "name" | "effect"> & Partial<PlanStep>;

const stepDefaults: Omit<PlanStep, "step_id" | "name" | "effect"> = {
  kind: "operator",
  payload: {},
  policy_tags: [],
  gate: "none",
  asks_for: {},
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
  expected_effects: [],
  invalid: null,
};

/** Returns a plan as the journal stores it. Runs of one plan share its lean form. */
export function leanPlan(plan: Plan): LeanPlan {
  const known = leanPlans.get(plan);
  if (known !== undefined) return known;
  const lean = { ...plan, steps: plan.steps.map(leanStep) };
  leanPlans.set(plan, lean);
  return lean;
}

const leanPlans = new WeakMap<Plan, LeanPlan>();

export function leanStep(step: PlanStep): LeanStep {
  const { step_id, name, effect } = step;
  const lean: Record<string, unknown> = { step_id, name, effect };
  for (const key of defaultedFields) if (differsFromDefault(step[key], stepDefaults[key])) lean[key] = step[key];
  return lean as LeanStep;
}

const defaultedFields = Object.keys(stepDefaults) as (keyof typeof stepDefaults)[];

/** A default is null, a text, or an empty list or object. If it is null, an empty list differs from it. */
function differsFromDefault(value: PlanStep[keyof PlanStep], byDefault: PlanStep[keyof PlanStep]): boolean {
  if (value === byDefault || byDefault === null) return value !== byDefault;
  return typeof value !== "object" || value === null || !isEmpty(value);
}

/**
 * Returns the plan as the digest of a request has it. Fields that were added to steps later are left out where they have
 * their default, so that a request keeps its digest.
 */
export function requestedPlan(plan: Plan): JsonObject {
  const steps = plan.steps.map(({ invalid, expected_effects, asks_for, ...step }) => ({
    ...step,
    ...(!isEmpty(asks_for) && { asks_for }),
    ...(invalid !== null && { invalid }),
    ...(expected_effects.length > 0 && { expected_effects }),
  }));
  return { ...plan, steps } as unknown as JsonObject;
}

function isEmpty(value: object): boolean {
  for (const key in value) if (Object.hasOwn(value, key)) return false;
  return true;
}

/**
 * Fills in the defaults of a step, field by field, because spreading objects takes three times as long and a plan may
 * have ten thousand steps.
 */
export function planStep(step: LeanStep): PlanStep {
  return {
    step_id: step.step_id,
    kind: step.kind ?? stepDefaults.kind,
    name: step.name,
    payload: step.payload ?? stepDefaults.payload,
    effect: step.effect,
    policy_tags: step.policy_tags ?? stepDefaults.policy_tags,
    gate: step.gate ?? stepDefaults.gate,
    asks_for: step.asks_for ?? stepDefaults.asks_for,
    cache_policy: step.cache_policy ?? stepDefaults.cache_policy,
    idempotency_template: step.idempotency_template ?? stepDefaults.idempotency_template,
    depends_on: step.depends_on ?? stepDefaults.depends_on,
    bindings: step.bindings ?? stepDefaults.bindings,
    on_failure: step.on_failure ?? stepDefaults.on_failure,
    on_rejected: step.on_rejected ?? stepDefaults.on_rejected,
    retries: step.retries ?? stepDefaults.retries,
    timeout_ms: step.timeout_ms ?? stepDefaults.timeout_ms,
    preconditions: step.preconditions ?? stepDefaults.preconditions,
    outcome: step.outcome ?? stepDefaults.outcome,
    state_reads: step.state_reads ?? stepDefaults.state_reads,
    state_writes: step.state_writes ?? stepDefaults.state_writes,
    expected_effects: step.expected_effects ?? stepDefaults.expected_effects,
    invalid: step.invalid ?? stepDefaults.invalid,
  };
}

/** The fields of a step as a plan names them, in order. */
export const planStepFields: readonly string[] = Object.keys(
  planStep({ step_id: "" as StepId, name: "", effect: "pure" }),
)
  .filter((field) => field !== "invalid")
  .map((field) => (field === "effect" ? "effects" : field));

/** The form of a signal key. Keys that begin with `run:` are reserved for the ends of runs. */
export const signalKeyPattern = new RegExp(nameForm.source.replace("^", "^(?!run:)"), "u");

/**
 * The source of a value in a payload: a JSON pointer into the output of an earlier step, or into an outcome of an
 * earlier run. Bound values are not resolved again.
 */
export type PlanBinding = StepBinding | OutcomeBinding;

export interface BoundPart {
  readonly path: string;
  readonly as: "value" | "sha256";
}

export interface StepBinding extends BoundPart {
  readonly step: StepId;
}

export interface OutcomeBinding extends BoundPart {
  /** The id of the outcome. */
  readonly outcome: string;
  /** The step that made the outcome. Present once the plan was accepted: then the payload has the value. */
  readonly from?: { readonly run: RunId; readonly step: StepId };
}

/** A condition on the output of an earlier step or on the state. It is false if the values cannot be compared. */
export type Condition = OutputCondition | StateCondition;

export interface Comparison {
  readonly operator: "eq" | "neq" | "gt" | "lt" | "gte" | "lte" | "exists" | "not_exists" | "contains";
  readonly value: Json;
}

export interface OutputCondition extends Comparison {
  readonly step: StepId;
  readonly path: string;
}

/** A condition on the state of the project, as it is when the step starts. */
export interface StateCondition extends Comparison {
  /** A JSON pointer: the slice, the key or index of an entry, and a path inside it. */
  readonly state: string;
}

/** A value in the state after a step has succeeded. */
export type ExpectedEffect = Pick<StateCondition, "state" | "value">;

/** The limits on a plan. */
export const planLimits = {
  steps: 10_000,
  bytes: 4 * 1024 * 1024,
  depth: 64,
  nodes: 500_000,
  idLength: 64,
  dependencies: 100_000,
  boundOutcomes: 100,
  templateLength: 1024,
  timeoutMs: 24 * 60 * 60 * 1000,
  waitMs: 366 * 24 * 60 * 60 * 1000,
  retries: 20,
  expectedEffects: 32,
} as const;
