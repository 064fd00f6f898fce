import type { FieldReader } from "../json/field-reader.ts";
import { type PlanStep, planStep } from "./plan.ts";
import { type StepKind, stepKinds } from "./step-kinds.ts";

/** True for the fields that apply only to a step that calls a tool. */
const onlyForTools: Readonly<Record<Exclude<keyof PlanStep, "step_id" | "name">, boolean>> = {
  kind: false,
  payload: false,
  effect: true,
  policy_tags: false,
  gate: true,
  asks_for: true,
  cache_policy: true,
  idempotency_template: true,
  depends_on: false,
  bindings: true,
  on_failure: false,
  on_rejected: false,
  retries: true,
  timeout_ms: true,
  preconditions: false,
  outcome: true,
  state_reads: true,
  state_writes: true,
  expected_effects: true,
  invalid: false,
};
const toolFields = (Object.keys(onlyForTools) as (keyof typeof onlyForTools)[]).filter((name) => onlyForTools[name]);

/** Refuses the fields that control a tool on a step that calls none. */
export function refuseToolFields(step: FieldReader, normal: PlanStep): void {
  const plain = planStep({ effect: "pure", step_id: normal.step_id, name: normal.name });
  for (const name of toolFields) {
    if (isGiven(normal, plain, name))
      step.addReason(name === "effect" ? "effects" : name, `is for operators; ${normal.kind} calls no tool`);
  }
}

function isGiven(normal: PlanStep, plain: PlanStep, name: keyof PlanStep): boolean {
  switch (name) {
    case "bindings":
      return Object.keys(normal.bindings).some((place) => !isBindable(normal.kind, place));
    case "expected_effects":
      return normal.expected_effects.length > 0;
    case "asks_for":
      return Object.keys(normal.asks_for).length > 0;
    default:
      return normal[name] !== plain[name];
  }
}

function isBindable(kind: StepKind, place: string): boolean {
  const { bindable } = stepKinds[kind];
  return bindable === "everything" || (bindable === "signal" && place === "/signal");
}
