import { valueAt } from "../json/json-pointer.ts";
import { unreachable } from "../values/assert.ts";
import type { StepId } from "../values/ids.ts";
import { type Json, sameJson } from "../values/json.ts";
import type { Comparison, Condition, OutputCondition, PlanStep, StateCondition } from "./plan.ts";

export function isStateCondition(condition: Condition): condition is StateCondition {
  return "state" in condition;
}

/** Returns the conditions on state that decide whether the step starts. */
export function stateConditions({ kind, preconditions, payload }: PlanStep): readonly StateCondition[] {
  if (kind !== "assertion") return preconditions.length === 0 ? NONE : preconditions.filter(isStateCondition);
  const asserted = payload as unknown as Condition;
  return [...preconditions, ...("operator" in payload ? [asserted] : [])].filter(isStateCondition);
}

const NONE: readonly never[] = [];

/** Describes a condition in words. `verb` stands between the place and the comparison. */
export function conditionText(condition: Condition, verb = ""): string {
  const { operator, value } = condition;
  const place = isStateCondition(condition) ? `state ${condition.state}` : `${condition.step}${condition.path}`;
  return `${place}${verb} ${operator} ${JSON.stringify(value)}`;
}

/**
 * True if a condition on an earlier step holds. For a step without output no condition holds, not even `not_exists`.
 */
export function isConditionMet(condition: OutputCondition, outputOf: (step: StepId) => Json | undefined): boolean {
  const output = outputOf(condition.step);
  return output !== undefined && doesHold(condition, valueAt(output, condition.path));
}

/** True if the comparison with a value holds. Undefined: there is no value. */
export function doesHold({ operator, value }: Comparison, found: Json | undefined): boolean {
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
