import type { Json } from "../core/values/json.ts";
import { EvaluationError } from "./fuel-meter.ts";
import type { EvaluationContext, Evaluator } from "./scope.ts";
import { expectBoolean, expectList } from "./values.ts";

/** Computes the value of a macro from the value of its expression for each item. */
type ListMacro = (items: readonly Json[], evaluate: (item: Json) => Json) => Json;

const listMacros: Readonly<Record<string, ListMacro>> = {
  exists: (items, evaluate) => items.some((item) => expectBoolean(evaluate(item), "the condition of exists")),
  all: (items, evaluate) => items.every((item) => expectBoolean(evaluate(item), "the condition of all")),
  exists_one: (items, evaluate) =>
    items.filter((item) => expectBoolean(evaluate(item), "the condition of exists_one")).length === 1,
  filter: (items, evaluate) => items.filter((item) => expectBoolean(evaluate(item), "the condition of filter")),
  map: (items, evaluate) => items.map(evaluate),
};

export function isListMacro(name: string): boolean {
  return Object.hasOwn(listMacros, name);
}

/**
 * Compiles a macro. Each item costs one step in addition to its evaluation. `depth` is the index of the current item.
 */
export function compileListMacro(name: string, list: Evaluator, each: Evaluator, depth: number): Evaluator {
  const macro = listMacros[name];
  if (macro === undefined) throw new EvaluationError(`there is no macro ${name}`);
  return (context) => {
    const items = expectList(list(context), `the value before ${name}`);
    return macro(items, (item) => evaluateItem(each, item, depth, context));
  };
}

function evaluateItem(each: Evaluator, item: Json, depth: number, context: EvaluationContext): Json {
  context.meter.spend(1);
  context.items[depth] = item;
  return each(context);
}
