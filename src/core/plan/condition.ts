import { valueAt } from "../json/json-pointer.ts";
import { unreachable } from "../values/assert.ts";
import type { StepId } from "../values/ids.ts";
import { type Json, sameJson } from "../values/json.ts";
import type { Condition } from "./plan.ts";

/**
 * True if a condition on an earlier step holds. For a step without output no condition holds, not even `not_exists`.
 */
export function isConditionMet(condition: Condition, outputOf: (step: StepId) => Json | undefined): boolean {
  const { step, path, operator, value } = condition;
  const output = outputOf(step);
  if (output === undefined) return false;
  const found = valueAt(output, path);
  if (operator === "not_exists") return found === undefined;
  if (found === undefined) return false;
  switch (operator) {
    case "exists":
      return true;
    case "eq":
      return sameJson(found, value);
    case "neq":
      return !sameJson(found, value);
    case "gt":
      return compare(found, value) > 0;
    case "lt":
      return compare(found, value) < 0;
    case "gte":
      return compare(found, value) >= 0;
    case "lte":
      return compare(found, value) <= 0;
    case "contains":
      return contains(found, value);
    default:
      return unreachable(operator);
  }
}

/** Returns NaN for values without an order, so that every comparison is false. */
function compare(left: Json, right: Json): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  if (typeof left !== "string" || typeof right !== "string") return Number.NaN;
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

function contains(whole: Json, part: Json): boolean {
  if (typeof whole === "string") return typeof part === "string" && whole.includes(part);
  return Array.isArray(whole) && whole.some((item) => sameJson(item, part));
}
