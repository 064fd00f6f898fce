import type { CachePolicy } from "../tool/tool.ts";
import type { Effect } from "../values/effect.ts";
import type { StepId } from "../values/ids.ts";
import { nameForm } from "../values/is-name.ts";
import type { Json, JsonObject } from "../values/json.ts";
import type { StepKind } from "./step-kinds.ts";

/** A plan in its normal form, which is stored and run: absent fields of a step are taken from its tool. */
export interface Plan {
  readonly plan_id: string | null;
  readonly schema_version: "1.0";
  readonly intent_id: string | null;
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
  readonly cache_policy: CachePolicy;
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
}

/** A step as the journal stores it: without defaults, because a plan would otherwise be larger than its results. */
export type LeanStep = Pick<PlanStep, "step_id" | "name" | "effect"> & Partial<PlanStep>;

const stepDefaults: Omit<PlanStep, "step_id" | "name" | "effect"> = {
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
  };
}

/** The fields of a step as a plan names them, in order. */
export const planStepFields: readonly string[] = Object.keys(
  planStep({ step_id: "" as StepId, name: "", effect: "pure" }),
).map((field) => (field === "effect" ? "effects" : field));

/** The form of a signal key. Keys that begin with `run:` are reserved for the ends of runs. */
export const signalKeyPattern = new RegExp(nameForm.source.replace("^", "^(?!run:)"), "u");

/**
 * The source of a value in a payload: a JSON pointer into the output of an earlier step. Bound values are not resolved
 * again.
 */
export interface PlanBinding {
  readonly step: StepId;
  readonly path: string;
  readonly as: "value" | "sha256";
}

/** A condition on the output of an earlier step. It is false if the values cannot be compared. */
export interface Condition {
  readonly step: StepId;
  readonly path: string;
  readonly operator: "eq" | "neq" | "gt" | "lt" | "gte" | "lte" | "exists" | "not_exists" | "contains";
  readonly value: Json;
}

/** The limits on a plan. */
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
