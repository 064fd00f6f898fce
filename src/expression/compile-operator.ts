import type { Json } from "../core/values/json.ts";
import { EvaluationError, type FuelMeter } from "./fuel-meter.ts";
import type { Evaluator } from "./scope.ts";
import { compareValues, equalValues, expectBoolean, expectList, expectNumber, readField } from "./values.ts";

type Operator = (left: Json, right: Json, meter: FuelMeter) => Json;

const operators: Readonly<Record<string, Operator>> = {
  "==": equalValues,
  "!=": (left, right, meter) => !equalValues(left, right, meter),
  "<": (left, right, meter) => compareValues(left, right, meter) < 0,
  "<=": (left, right, meter) => compareValues(left, right, meter) <= 0,
  ">": (left, right, meter) => compareValues(left, right, meter) > 0,
  ">=": (left, right, meter) => compareValues(left, right, meter) >= 0,
  in: isIn,
  "+": sum,
  "-": (left, right) => finite(expectNumber(left, "the left side of -") - expectNumber(right, "the right side of -")),
  "*": (left, right) => finite(expectNumber(left, "the left side of *") * expectNumber(right, "the right side of *")),
  "/": (left, right) => finite(expectNumber(left, "the left side of /") / expectNumber(right, "the right side of /")),
  "%": (left, right) => finite(expectNumber(left, "the left side of %") % expectNumber(right, "the right side of %")),
};

/** Compiles a binary operator. */
export function compileOperator(name: string, left: Evaluator, right: Evaluator): Evaluator {
  if (name === "&&" || name === "||") return compileLogical(name, left, right);
  const operator = Object.hasOwn(operators, name) ? operators[name] : undefined;
  if (operator === undefined) throw new EvaluationError(`${name} is not in the language`);
  return (context) => {
    context.meter.spend(1);
    return operator(left(context), right(context), context.meter);
  };
}

/** Evaluates from left to right: an error of the left side is an error, whatever the right side is. */
function compileLogical(name: "&&" | "||", left: Evaluator, right: Evaluator): Evaluator {
  const decides = name === "||";
  return (context) => {
    context.meter.spend(1);
    if (expectBoolean(left(context), `the left side of ${name}`) === decides) return decides;
    return expectBoolean(right(context), `the right side of ${name}`);
  };
}

function isIn(value: Json, whole: Json, meter: FuelMeter): boolean {
  if (Array.isArray(whole)) return whole.some((item) => equalValues(value, item as Json, meter));
  return readField(whole, value) !== undefined;
}

function sum(left: Json, right: Json, meter: FuelMeter): Json {
  if (typeof left === "number") return finite(left + expectNumber(right, "the right side of +"));
  if (typeof left === "string" && typeof right === "string") {
    meter.spendForText(left.length + right.length);
    return left + right;
  }
  const [before, after] = [expectList(left, "the left side of +"), expectList(right, "the right side of +")];
  meter.spend(before.length + after.length);
  return [...before, ...after];
}

function finite(value: number): number {
  if (!Number.isFinite(value)) throw new EvaluationError("the result is not a finite number");
  return value;
}
