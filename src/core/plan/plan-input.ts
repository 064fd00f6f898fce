import type { Json, JsonObject } from "../values/json.ts";
import type { Condition, Plan, PlanBinding, PlanStep, StateCondition } from "./plan.ts";
import type { stateTools } from "./plan-context.ts";
import type { PlanStepKind } from "./step-kinds.ts";

/** A plan as its author writes it: a plan is JSON, and every submitted plan is checked. */
export interface PlanInput {
  /** A name that lists show. */
  readonly plan_id?: string | null;
  /** The form of the plan. Default: "1.0". */
  readonly schema_version?: Plan["schema_version"];
  /** The request key of a submission that names none. */
  readonly intent_id?: string | null;
  /** True: the steps run one after another, in the order of the plan. Default: false. */
  readonly sequential?: boolean;
  /** reject_step: an invalid step is rejected by itself, on record. Default: the whole plan is refused. */
  readonly invalid?: "refuse" | "reject_step";
  /** The steps. Their order has no meaning unless the plan is sequential. */
  readonly steps: readonly PlanStepInput[];
}

/** A step of a plan as its author writes it. Absent fields are taken from its tool, or have the default of the field. */
export interface PlanStepInput {
  /** The name of the step in this plan. */
  readonly step_id: string;
  /** Default: operator, which calls the tool that `name` names. */
  readonly kind?: PlanStepKind | keyof typeof stateTools;
  /** The tool that the step calls. */
  readonly name?: string;
  /** The input of the tool, without the values that bindings supply. Default: {}. */
  readonly payload?: JsonObject;
  /** The step is judged by the worst of these effects and that of its tool. */
  readonly effects?: readonly string[];
  /** Tags of this call for policies, besides those of its tool. Default: none. */
  readonly policy_tags?: readonly string[];
  /** `human_confirm`: a person confirms the call. Default: none. */
  readonly gate?: PlanStep["gate"];
  /**
   * Values of the payload that a person supplies if they are missing: what each is, by its JSON pointer. The call waits
   * at a gate that asks for them. Default: what its tool asks for.
   */
  readonly asks_for?: PlanStep["asks_for"];
  /**
   * Whether a recorded output may answer the call. `refresh`: no, and the output of the call answers later ones. Default:
   * that of the tool.
   */
  readonly cache_policy?: PlanStep["cache_policy"];
  /** The key of an act as a text with placeholders, in place of the identity of its tool. Default: none. */
  readonly idempotency_template?: string | null;
  /** Steps that must end before this one, besides those that bindings and conditions name. Default: none. */
  readonly depends_on?: readonly string[];
  /** The sources of values of the payload, by the JSON pointer of the value. */
  readonly bindings?: Readonly<Record<string, PlanBindingInput>>;
  /**
   * The effect of its failure: `abort` ends the plan, `skip` skips it and the steps that need it, `retry` tries any error
   * of the tool again, as often as `retries` says, and then ends the plan. Default: abort.
   */
  readonly on_failure?: PlanStep["on_failure"];
  /**
   * The effect of its rejection: `stop` ends the plan, `continue` goes on with the steps that do not need it. Default: stop.
   */
  readonly on_rejected?: PlanStep["on_rejected"];
  /** The number of retries. Default: that of the tool, else of the fault table. */
  readonly retries?: number | null;
  /** The timeout of the call in milliseconds. Default: that of the tool. */
  readonly timeout_ms?: number | null;
  /** Conditions on the outputs of earlier steps. Default: none. */
  readonly preconditions?: readonly ConditionInput[];
  /** The type and status under which lists show the output. Default: none. */
  readonly outcome?: { readonly type: string; readonly status?: "draft" | "final" } | null;
  /** JSON pointers to the state that the call reads. Default: as its tool declares. */
  readonly state_reads?: readonly string[] | null;
  /** JSON pointers to the state that the call writes. Default: as its tool declares. */
  readonly state_writes?: readonly string[] | null;
  /** Values that the state has after the step: checked, or set for a tool that writes no state. Default: none. */
  readonly expected_effects?: readonly Pick<StateCondition, "state" | "value">[];
}

/** A value of the output of a step of the plan, or of the outcome of an earlier run. */
export type PlanBindingInput = { readonly path: string; readonly as?: PlanBinding["as"] } & (
  | { readonly step: string }
  | { readonly outcome: string }
);

export type ConditionInput = { readonly operator: Condition["operator"]; readonly value?: Json } & (
  | { readonly step: string; readonly path: string }
  | { readonly state: string }
);
