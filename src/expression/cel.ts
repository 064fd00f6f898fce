import { Environment } from "@marcbachmann/cel-js";
import { type Answer, type Expression, expressionLimits, type Language } from "../core/expression.ts";
import type { Json } from "../core/json/json.ts";
import { compile } from "./compile.ts";
import { Meter } from "./meter.ts";
import { type Part, Scope } from "./scope.ts";

/** Only its parser is used: it bounds neither the time that an answer takes nor what a pattern does. */
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

/** A part of the Common Expression Language: what can be answered from JSON in a time that is known beforehand. */
export const cel: Language = {
  read(source, variables) {
    if (source.length > expressionLimits.length)
      return { wrong: `it is longer than ${expressionLimits.length} characters` };
    try {
      return new CelExpression(source, compile(parser.parse(source).ast, new Scope(variables)));
    } catch (error) {
      return { wrong: complaint(error) };
    }
  },
};

class CelExpression implements Expression {
  readonly source: string;
  readonly #part: Part;

  constructor(source: string, part: Part) {
    this.source = source;
    this.#part = part;
  }

  test(data: Readonly<Record<string, Json>>): Answer {
    const meter = new Meter(expressionLimits.fuel);
    try {
      const value = this.#part({ data, items: [], meter });
      if (typeof value === "boolean") return { holds: value, spent: meter.spent };
      return { wrong: "what it says is neither true nor false", spent: meter.spent };
    } catch (error) {
      return { wrong: complaint(error), spent: meter.spent };
    }
  }
}

/** Of the parser's complaints the first line: the rest draws the place. */
function complaint(error: unknown): string {
  return error instanceof Error ? (error.message.split("\n")[0] as string) : "it cannot be read";
}
