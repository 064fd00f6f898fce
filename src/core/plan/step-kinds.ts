import type { Json } from "../values/json.ts";

/** The kinds of steps. */
export type StepKind = "operator" | "assertion" | "wait" | "run";

/** The properties of a kind of step. */
export interface StepKindTraits {
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
    callsTool: true,
    startsRun: false,
    haltable: true,
    endsByTime: false,
    bindable: "everything",
    output: "always",
  },
  assertion: {
    callsTool: false,
    startsRun: false,
    haltable: false,
    endsByTime: false,
    bindable: "nothing",
    output: "never",
  },
  wait: {
    callsTool: false,
    startsRun: false,
    haltable: false,
    endsByTime: true,
    bindable: "signal",
    output: "with_signal",
  },
  run: {
    callsTool: false,
    startsRun: true,
    haltable: true,
    endsByTime: false,
    bindable: "everything",
    output: "always",
  },
};

export const stepKindNames = Object.keys(stepKinds) as readonly StepKind[];

export function isStepKind(value: Json): value is StepKind {
  return typeof value === "string" && Object.hasOwn(stepKinds, value);
}
