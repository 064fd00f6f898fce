import { unreachable } from "../assert.ts";
import type { StepId } from "../id.ts";
import { type Json, sameJson } from "../json/json.ts";
import { valueAt } from "../json/pointer.ts";
import type { Condition } from "./plan.ts";

/** Whether a claim about an earlier step is true. A step without output supports no claim, not even that of absence. */
export function holds(condition: Condition, outputOf: (step: StepId) => Json | undefined): boolean {
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
      return order(found, value) > 0;
    case "lt":
      return order(found, value) < 0;
    case "gte":
      return order(found, value) >= 0;
    case "lte":
      return order(found, value) <= 0;
    case "contains":
      return contains(found, value);
    default:
      return unreachable(operator);
  }
}

/** NaN for what has no order among each other: it is neither more, nor less, nor equal. */
function order(left: Json, right: Json): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  if (typeof left !== "string" || typeof right !== "string") return Number.NaN;
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

function contains(whole: Json, part: Json): boolean {
  if (typeof whole === "string") return typeof part === "string" && whole.includes(part);
  return Array.isArray(whole) && whole.some((item) => sameJson(item, part));
}
