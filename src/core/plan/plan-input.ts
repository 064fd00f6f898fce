import type { Json, JsonObject } from "../values/json.ts";
import type { Condition, Plan, PlanBinding, PlanStep } from "./plan.ts";
import type { stateTools } from "./plan-context.ts";
import type { PlanStepKind } from "./step-kinds.ts";

/** A plan as its author writes it: a plan is JSON, and every submitted plan is checked. */
export interface PlanInput {
  readonly plan_id?: string | null;
  readonly schema_version?: Plan["schema_version"];
  /** The request key of a submission that names none. */
  readonly intent_id?: string | null;
  readonly steps: readonly PlanStepInput[];
}

/** A step of a plan as its author writes it. Absent fields are taken from its tool, or have the default of the field. */
export interface PlanStepInput {
  readonly step_id: string;
  /** Default: operator, which calls the tool that `name` names. */
  readonly kind?: PlanStepKind | keyof typeof stateTools;
  readonly name?: string;
  readonly payload?: JsonObject;
  /** The step is judged by the worst of these effects and that of its tool. */
  readonly effects?: readonly string[];
  readonly policy_tags?: readonly string[];
  readonly gate?: PlanStep["gate"];
  readonly cache_policy?: PlanStep["cache_policy"];
  readonly idempotency_template?: string | null;
  readonly depends_on?: readonly string[];
  /** The sources of values of the payload, by the JSON pointer of the value. */
  readonly bindings?: Readonly<Record<string, PlanBindingInput>>;
  readonly on_failure?: PlanStep["on_failure"];
  readonly on_rejected?: PlanStep["on_rejected"];
  readonly retries?: number | null;
  readonly timeout_ms?: number | null;
  readonly preconditions?: readonly ConditionInput[];
  readonly outcome?: { readonly type: string; readonly status?: "draft" | "final" } | null;
  readonly state_reads?: readonly string[] | null;
  readonly state_writes?: readonly string[] | null;
}

export interface PlanBindingInput {
  readonly step: string;
  readonly path: string;
  readonly as?: PlanBinding["as"];
}

export interface ConditionInput {
  readonly step: string;
  readonly path: string;
  readonly operator: Condition["operator"];
  readonly value?: Json;
}
