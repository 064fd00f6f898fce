import { pointerTo } from "../json/json-pointer.ts";
import { isPlainObject } from "../json/plain-object.ts";
import type { InputOf, OutputOf, Tool } from "../tool/tool.ts";
import { FaultError, fault } from "../values/fault.ts";
import type { Json, JsonObject } from "../values/json.ts";
import { planLimits } from "./plan.ts";
import type { PlanBindingInput, PlanInput, PlanStepInput } from "./plan-input.ts";

declare const referredType: unique symbol;

/** A value of this type in the output of an earlier step. */
export interface OutputReference<out Value> {
  readonly [referredType]: Value;
}

/** The output of a planned step. Its fields, and their fields, are references for the inputs of later steps. */
export type PlannedOutput<Value> = unknown extends Value
  ? AnyPlannedOutput
  : Json extends Value
    ? AnyPlannedOutput
    : OutputReference<Value> & PlannedFields<Exclude<Value, null | undefined>>;

type PlannedFields<Value> = Value extends readonly (infer Item)[]
  ? { readonly [index: number]: PlannedOutput<Item> }
  : Value extends object
    ? { readonly [Field in keyof Value]-?: PlannedOutput<Value[Field]> }
    : unknown;

/** An output without a type. It fits everywhere. */
export interface AnyPlannedOutput extends OutputReference<never> {
  readonly [field: string]: AnyPlannedOutput;
}

/** The input of a planned step: each of its values may be a reference to an output. */
export type PlannedInput<Input> = Json extends Input
  ? { readonly [field: string]: PlannedJson }
  : Input extends object
    ? { readonly [Field in keyof Input]: PlannedValue<Input[Field]> }
    : never;

export type PlannedValue<Value> = unknown extends Value
  ? PlannedJson
  : Json extends Value
    ? PlannedJson
    :
        | Value
        | OutputReference<Value>
        | (Value extends object ? { readonly [Key in keyof Value]: PlannedValue<Value[Key]> } : never);

export type PlannedJson =
  | Json
  | OutputReference<unknown>
  | readonly PlannedJson[]
  | { readonly [key: string]: PlannedJson };

export interface PlannedStep<Output = Json> {
  readonly step_id: string;
  readonly output: PlannedOutput<Output>;
}

/** The fields of a step that a tool call does not need. */
export type PlannedStepOptions = Omit<PlanStepInput, "step_id" | "kind" | "name" | "payload" | "bindings">;

export interface PlanBuilder {
  /** Adds a call of a tool. References to outputs in its input become bindings. */
  step<Called extends Tool>(
    stepId: string,
    tool: Called,
    input: PlannedInput<InputOf<Called>>,
    options?: PlannedStepOptions,
  ): PlannedStep<OutputOf<Called>>;
  /** Adds a step as data, for example one that waits for a signal. */
  add(step: PlanStepInput): PlannedStep;
}

/** Makes a plan of tool calls whose inputs and outputs are typed by their tools. */
export function buildPlan(build: (builder: PlanBuilder) => void, ids: Omit<PlanInput, "steps"> = {}): PlanInput {
  const steps: PlanStepInput[] = [];
  const add = (step: PlanStepInput): PlannedStep => {
    steps.push(step);
    return { step_id: step.step_id, output: makeReference(step.step_id, "") as AnyPlannedOutput };
  };
  build({
    add,
    step: <Called extends Tool>(
      step_id: string,
      { name }: Called,
      input: PlannedInput<InputOf<Called>>,
      options: PlannedStepOptions = {},
    ) => {
      const bindings: Record<string, PlanBindingInput> = {};
      const payload = replaceReferences(input, "", bindings) as JsonObject;
      if (sources.has(input as object))
        throw new FaultError(fault("PLAN_INVALID", `${step_id}: its input is an output; bind the fields of its input`));
      const hasBindings = Object.keys(bindings).length > 0;
      add({ ...options, step_id, name, payload, ...(hasBindings && { bindings }) });
      return { step_id, output: makeReference(step_id, "") as PlannedOutput<OutputOf<Called>> };
    },
  });
  return { ...ids, steps };
}

/** The sources of the references. A reference itself has no readable fields but further references. */
const sources = new WeakMap<object, PlanBindingInput>();

function makeReference(step: string, path: string): unknown {
  const reference = new Proxy(Object.freeze({}), {
    get: (_, field) => (typeof field === "string" ? makeReference(step, pointerTo(path, field)) : undefined),
  });
  sources.set(reference, { step, path });
  return reference;
}

/** Returns the value without references, and adds a binding for each. */
function replaceReferences(value: unknown, at: string, bindings: Record<string, PlanBindingInput>, depth = 0): unknown {
  if (typeof value !== "object" || value === null || depth > planLimits.depth) return value;
  const source = sources.get(value);
  if (source !== undefined) {
    bindings[at] = source;
    return null;
  }
  const replace = (key: string | number, child: unknown) =>
    replaceReferences(child, pointerTo(at, key), bindings, depth + 1);
  if (Array.isArray(value)) return value.map((item, index) => replace(index, item));
  if (!isPlainObject(value)) return value;
  const fields = Object.entries(value).map(([key, child]) => [key, replace(key, child)] as const);
  return Object.fromEntries(fields.filter(([key]) => !Object.hasOwn(bindings, pointerTo(at, key))));
}
