import { parsePointer, pointerTo, valueAt, withValuesAt } from "../json/json-pointer.ts";
import { type Fault, fault } from "../values/fault.ts";
import type { StepId } from "../values/ids.ts";
import { isJsonObject, type Json, type JsonObject } from "../values/json.ts";
import type { PlanInput, PlanStepInput } from "./plan-input.ts";

/** The limits on a step of kind `for_each`. */
export const forEachLimits = { items: 1000, usualItems: 100 } as const;

/** The template of the step that is made for each item. Its bindings name places in the item. */
export interface ForEachPayload {
  readonly items: readonly Json[];
  readonly each: JsonObject;
  /** The maximum number of items. */
  readonly most: number;
  readonly sequential: boolean;
  readonly context: JsonObject;
}

export const forEachFields = ["items", "each", "most", "sequential", "context"];

/** The id of the step of an item, in the run of a `for_each` step. */
export function itemStepId(at: number): StepId {
  return `item-${at}` as StepId;
}

/** Returns the filled payload of a step, or why it cannot be used. Its form was checked, except for bound values. */
export function readForEach(step: StepId, payload: JsonObject): ForEachPayload | { readonly flaw: Fault } {
  const { items, each, most = forEachLimits.usualItems, sequential = false, context = {} } = payload;
  if (!Array.isArray(items)) return { flaw: fault("INVALID_INPUT", `${step}: items is not a list`) };
  if (items.length > Number(most)) {
    const message = `${step}: ${items.length} items, and the limit of the step is ${most}`;
    return { flaw: fault("LIMIT_EXCEEDED", message) };
  }
  return {
    items,
    each: each as JsonObject,
    most: Number(most),
    sequential: sequential === true,
    context: context as JsonObject,
  };
}

/** Returns the plan with one step per item, or the fault of an item without a value that its step needs. */
export function planOfItems({ items, each, sequential }: ForEachPayload): PlanInput | Fault {
  const { bindings = {}, payload = {}, ...rest } = each;
  const sources = Object.entries(bindings as JsonObject).map(([target, source]) => {
    return [target, String((source as JsonObject).item)] as const;
  });
  const steps: PlanStepInput[] = [];
  for (const [at, item] of items.entries()) {
    const values: [string, Json][] = [];
    for (const [target, path] of sources) {
      const value = valueAt(item, path);
      if (value === undefined) return fault("MISSING_REQUIRED_CONTEXT", `item ${at} has no value at ${path || "/"}`);
      values.push([target, value]);
    }
    const filled = values.length === 0 ? payload : withValuesAt(payload as JsonObject, values);
    steps.push({ ...rest, step_id: itemStepId(at), payload: filled as JsonObject });
  }
  return { sequential, steps };
}

/** Adds the problems of the bindings of a template. */
export function checkItemBindings(each: JsonObject, path: string, add: (path: string, message: string) => void): void {
  const { bindings = {} } = each;
  const place = pointerTo(path, "bindings");
  if (!isJsonObject(bindings)) add(place, "must be an object");
  for (const [target, source] of Object.entries(isJsonObject(bindings) ? bindings : {})) {
    const isItem = isJsonObject(source) && Object.keys(source).length === 1 && typeof source.item === "string";
    if (!isItem || parsePointer(String(source.item)) === null)
      add(pointerTo(place, target), 'must be { "item": a JSON pointer into the item }; "" is all of it');
    if ((parsePointer(target)?.length ?? 0) === 0)
      add(pointerTo(place, target), "must be a JSON pointer into the payload");
  }
}
