import { isJsonObject, type Json, type JsonObject } from "../core/values/json.ts";
import { EvaluationError, type FuelMeter } from "./fuel-meter.ts";

/** Returns the name of the type of a value, for messages. */
export function kindName(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

export function expectBoolean(value: Json, subject: string): boolean {
  if (typeof value !== "boolean") throw new EvaluationError(`${subject} is ${kindName(value)}, not true or false`);
  return value;
}

export function expectText(value: Json, subject: string): string {
  if (typeof value !== "string") throw new EvaluationError(`${subject} is ${kindName(value)}, not a text`);
  return value;
}

export function expectList(value: Json, subject: string): readonly Json[] {
  if (!Array.isArray(value)) throw new EvaluationError(`${subject} is ${kindName(value)}, not a list`);
  return value as readonly Json[];
}

export function expectNumber(value: Json, subject: string): number {
  if (typeof value !== "number") throw new EvaluationError(`${subject} is ${kindName(value)}, not a number`);
  return value;
}

/** Reads an own field. An inherited field, or a key of another type, counts as absent. */
export function readField(value: Json, key: Json): Json | undefined {
  if (Array.isArray(value)) return typeof key === "number" && Object.hasOwn(value, key) ? value[key] : undefined;
  if (!isJsonObject(value)) throw new EvaluationError(`${kindName(value)} has no ${JSON.stringify(key)}`);
  return typeof key === "string" && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Returns whether two values have the same type and content. */
export function equalValues(left: Json, right: Json, meter: FuelMeter): boolean {
  meter.spend(1);
  if (typeof left === "string" && typeof right === "string") {
    if (left.length !== right.length) return false;
    meter.spendForText(left.length);
    return left === right;
  }
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return left === right;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  meter.spend(keys.length);
  const [one, two] = [left as JsonObject, right as JsonObject];
  return keys.every((key) => Object.hasOwn(two, key) && equalValues(one[key] as Json, two[key] as Json, meter));
}

/** Compares two numbers or two texts. Other values have no order. */
export function compareValues(left: Json, right: Json, meter: FuelMeter): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  if (typeof left !== "string" || typeof right !== "string")
    throw new EvaluationError(`${kindName(left)} and ${kindName(right)} have no order`);
  meter.spendForText(Math.min(left.length, right.length));
  return left < right ? -1 : left > right ? 1 : 0;
}
