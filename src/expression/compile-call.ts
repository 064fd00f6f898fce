import { isJsonObject, type Json } from "../core/values/json.ts";
import { containsText } from "./contains-text.ts";
import { EvaluationError, type FuelMeter } from "./fuel-meter.ts";
import type { Evaluator } from "./scope.ts";
import { expectText, kindName } from "./values.ts";

type Implementation = (values: readonly Json[], meter: FuelMeter) => Json;

interface ExpressionFunction {
  /** The number of arguments, with the value that the function is called on. */
  readonly arity: number;
  readonly call: Implementation;
}

const functions: Readonly<Record<string, ExpressionFunction>> = {
  size: { arity: 1, call: ([value], meter) => size(value as Json, meter) },
  contains: { arity: 2, call: onTexts((whole, part, meter) => containsText(whole, part, meter)) },
  startsWith: { arity: 2, call: onTexts((whole, part) => whole.startsWith(part)) },
  endsWith: { arity: 2, call: onTexts((whole, part) => whole.endsWith(part)) },
  lowerAscii: {
    arity: 1,
    call: ([value], meter) => toLowerAscii(expectText(value as Json, "lowerAscii: the text"), meter),
  },
};

/** Compiles a call. The value that the function is called on is the first part. */
export function compileCall(name: string, parts: readonly Evaluator[]): Evaluator {
  const callable = Object.hasOwn(functions, name) ? functions[name] : undefined;
  if (callable === undefined) throw new EvaluationError(`there is no function ${name}`);
  if (parts.length !== callable.arity) throw new EvaluationError(`${name} has the wrong number of arguments`);
  return (context) => {
    context.meter.spend(1);
    return callable.call(
      parts.map((part) => part(context)),
      context.meter,
    );
  };
}

function onTexts(answer: (whole: string, part: string, meter: FuelMeter) => boolean): Implementation {
  return ([whole, part], meter) => {
    const [one, two] = [expectText(whole as Json, "the text"), expectText(part as Json, "the search text")];
    meter.spendForText(two.length);
    return answer(one, two, meter);
  };
}

function size(value: Json, meter: FuelMeter): number {
  if (typeof value === "string") {
    meter.spendForText(value.length);
    let points = 0;
    for (const _ of value) points += 1;
    return points;
  }
  if (Array.isArray(value)) return value.length;
  if (!isJsonObject(value)) throw new EvaluationError(`${kindName(value)} has no size`);
  const { length } = Object.keys(value);
  meter.spend(length);
  return length;
}

function toLowerAscii(value: string, meter: FuelMeter): string {
  meter.spendForText(value.length);
  return value.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
