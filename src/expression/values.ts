import { isObject, type Json, type JsonObject } from "../core/json/json.ts";
import { type Meter, Unanswerable } from "./meter.ts";

/** What a value is called in a complaint. */
export function kindOf(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

export function truth(value: Json, of: string): boolean {
  if (typeof value !== "boolean") throw new Unanswerable(`${of} is ${kindOf(value)}, not true or false`);
  return value;
}

export function text(value: Json, of: string): string {
  if (typeof value !== "string") throw new Unanswerable(`${of} is ${kindOf(value)}, not a text`);
  return value;
}

export function list(value: Json, of: string): readonly Json[] {
  if (!Array.isArray(value)) throw new Unanswerable(`${of} is ${kindOf(value)}, not a list`);
  return value as readonly Json[];
}

export function number(value: Json, of: string): number {
  if (typeof value !== "number") throw new Unanswerable(`${of} is ${kindOf(value)}, not a number`);
  return value;
}

/** Only what the data itself has: what it inherits, or what another key would be taken for, is not there. */
export function field(value: Json, key: Json): Json | undefined {
  if (Array.isArray(value)) return typeof key === "number" && Object.hasOwn(value, key) ? value[key] : undefined;
  if (!isObject(value)) throw new Unanswerable(`${kindOf(value)} has no ${JSON.stringify(key)}`);
  return typeof key === "string" && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Equal in kind and content. */
export function same(left: Json, right: Json, meter: Meter): boolean {
  meter.burn(1);
  if (typeof left === "string" && typeof right === "string") {
    if (left.length !== right.length) return false;
    meter.burnFor(left.length);
    return left === right;
  }
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return left === right;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  meter.burn(keys.length);
  const [one, two] = [left as JsonObject, right as JsonObject];
  return keys.every((key) => Object.hasOwn(two, key) && same(one[key] as Json, two[key] as Json, meter));
}

/** Which comes first; only numbers and texts have an order, each among their own. */
export function order(left: Json, right: Json, meter: Meter): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  if (typeof left !== "string" || typeof right !== "string")
    throw new Unanswerable(`${kindOf(left)} and ${kindOf(right)} have no order`);
  meter.burnFor(Math.min(left.length, right.length));
  return left < right ? -1 : left > right ? 1 : 0;
}
