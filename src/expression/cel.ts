import { Environment } from "@marcbachmann/cel-js";
import {
  type Expression,
  type ExpressionLanguage,
  type ExpressionResult,
  expressionLimits,
} from "../core/ports/expression.ts";
import type { Json } from "../core/values/json.ts";
import { compileExpression } from "./compile-expression.ts";
import { FuelMeter } from "./fuel-meter.ts";
import { type Evaluator, Scope } from "./scope.ts";

/** Only the parser of the library is used: its evaluator limits neither time nor patterns. */
const parser = new Environment({
  unlistedVariablesAreDyn: true,
  limits: {
    maxAstNodes: expressionLimits.nodes,
    maxDepth: expressionLimits.depth,
    maxListElements: expressionLimits.list,
    maxMapEntries: 0,
    maxCallArguments: expressionLimits.arguments,
  },
});

/** A subset of the Common Expression Language that is evaluated on JSON within a step limit. */
export const cel: ExpressionLanguage = {
  load: async () => {},
  read(source, variables, fields = {}) {
    if (source.length > expressionLimits.length)
      return { wrong: `it is longer than ${expressionLimits.length} characters` };
    try {
      return new CelExpression(source, compileExpression(parser.parse(source).ast, new Scope(variables, fields)));
    } catch (error) {
      return { wrong: errorText(error) };
    }
  },
};

class CelExpression implements Expression {
  readonly source: string;
  readonly #evaluate: Evaluator;

  constructor(source: string, evaluate: Evaluator) {
    this.source = source;
    this.#evaluate = evaluate;
  }

  test(data: Readonly<Record<string, Json>>): ExpressionResult {
    const meter = new FuelMeter(expressionLimits.fuel);
    try {
      const value = this.#evaluate({ data, items: [], meter });
      if (typeof value === "boolean") return { holds: value, spent: meter.spent };
      return { wrong: "its value is neither true nor false", spent: meter.spent };
    } catch (error) {
      return { wrong: errorText(error), spent: meter.spent };
    }
  }
}

/** Returns the first line of a message of the parser: the other lines show the position. */
function errorText(error: unknown): string {
  return error instanceof Error ? (error.message.split("\n")[0] as string) : "it cannot be parsed";
}
