import type { Json } from "../values/json.ts";
import { conditionText, doesHold, isStateCondition } from "./condition.ts";
import type { Condition } from "./plan.ts";

/** Returns why the conditions cannot hold together, or null if nothing proves it. */
export function findContradiction(conditions: readonly Condition[]): string | null {
  if (conditions.length < 2) return null;
  const places = new Map<string, Condition[]>();
  for (const condition of conditions) {
    const place = isStateCondition(condition) ? `state ${condition.state}` : `step ${condition.step}${condition.path}`;
    const known = places.get(place);
    if (known === undefined) places.set(place, [condition]);
    else known.push(condition);
  }
  for (const same of places.values())
    for (const [at, one] of same.entries())
      for (const other of same.slice(at + 1))
        if (excludes(one, other) || excludes(other, one))
          return `${conditionText(one)} and ${conditionText(other)} cannot both hold`;
  return null;
}

/** True if no value meets both. All operators but `not_exists` need a value. */
function excludes(one: Condition, other: Condition): boolean {
  if (one.operator === "not_exists") return other.operator !== "not_exists";
  if (one.operator === "eq") return !doesHold(other, one.value);
  const isLower = one.operator === "gt" || one.operator === "gte";
  const isUpper = other.operator === "lt" || other.operator === "lte";
  if (!isLower || !isUpper) return false;
  const isStrict = one.operator === "gt" || other.operator === "lt";
  return isAbove(one.value, other.value) || (isStrict && one.value === other.value) || !isSameKind(one, other);
}

function isAbove(left: Json, right: Json): boolean {
  return (
    (typeof left === "number" && typeof right === "number" && left > right) ||
    (typeof left === "string" && typeof right === "string" && left > right)
  );
}

/** A number is never between texts, and a text never between numbers. */
function isSameKind(one: Condition, other: Condition): boolean {
  return typeof one.value === typeof other.value;
}
