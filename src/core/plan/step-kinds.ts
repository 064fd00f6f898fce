import type { Json } from "../values/json.ts";

/**
 * The kinds of steps. A step of kind `verb` is a held request to use a method of the engine, and one of kind `model` asks
 * a model for an agent. One of kind `rollback` puts state and files back that an atomic plan has written. No plan contains
 * them.
 */
export type StepKind = "operator" | "assertion" | "wait" | "run" | "for_each" | "verb" | "model" | "rollback";

/** The properties of a kind of step. */
export interface StepKindTraits {
  /** True if a plan may contain it. */
  readonly inPlans: boolean;
  /** True if it calls the tool that it names. */
  readonly callsTool: boolean;
  /** True if it starts a child run and ends with it. */
  readonly startsRun: boolean;
  /** True if a halt prevents its start. */
  readonly haltable: boolean;
  /** True if it ends at a time. */
  readonly endsByTime: boolean;
  /** The parts of its payload that bindings may fill. */
  readonly bindable: "everything" | "signal" | "nothing";
  /** Whether other steps can refer to its output. */
  readonly output: "always" | "with_signal" | "never";
}

export const stepKinds: Readonly<Record<StepKind, StepKindTraits>> = {
  operator: {
    inPlans: true,
    callsTool: true,
    startsRun: false,
    haltable: true,
    endsByTime: false,
    bindable: "everything",
    output: "always",
  },
  assertion: {
    inPlans: true,
    callsTool: false,
    startsRun: false,
    haltable: false,
    endsByTime: false,
    bindable: "nothing",
    output: "never",
  },
  wait: {
    inPlans: true,
    callsTool: false,
    startsRun: false,
    haltable: false,
    endsByTime: true,
    bindable: "signal",
    output: "with_signal",
  },
  run: {
    inPlans: true,
    callsTool: false,
    startsRun: true,
    haltable: true,
    endsByTime: false,
    bindable: "everything",
    output: "always",
  },
  for_each: {
    inPlans: true,
    callsTool: false,
    startsRun: true,
    haltable: true,
    endsByTime: false,
    bindable: "everything",
    output: "always",
  },
  // A halt stops calls of tools. Lifting it is such a request, too.
  verb: {
    inPlans: false,
    callsTool: true,
    startsRun: false,
    haltable: false,
    endsByTime: false,
    bindable: "nothing",
    output: "always",
  },
  model: {
    inPlans: false,
    callsTool: true,
    startsRun: false,
    haltable: true,
    endsByTime: false,
    bindable: "nothing",
    output: "always",
  },
  rollback: {
    inPlans: false,
    callsTool: true,
    startsRun: false,
    haltable: false,
    endsByTime: false,
    bindable: "nothing",
    output: "always",
  },
};

/** A kind of step that a plan may contain. */
export type PlanStepKind = Exclude<StepKind, "verb" | "model" | "rollback">;

export const planStepKinds = (Object.keys(stepKinds) as readonly StepKind[]).filter(
  (kind): kind is PlanStepKind => stepKinds[kind].inPlans,
);

export function isPlanStepKind(value: Json): value is PlanStepKind {
  return (planStepKinds as readonly Json[]).includes(value);
}
