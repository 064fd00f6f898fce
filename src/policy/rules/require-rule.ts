import type { Expression } from "../../core/ports/expression.ts";
import type { RuleCheck } from "./rule.ts";

/** Refuses calls for which an expression is false or cannot be evaluated. */
export function requireRule(expression: Expression, reason: string | null): RuleCheck {
  return (call) => {
    const holds = call.evaluate(expression);
    if (holds === true) return null;
    const why =
      holds === false ? `${expression.source} is false` : `${expression.source} cannot be evaluated: ${holds.wrong}`;
    return { says: "refuse", reason: reason === null ? why : `${reason} (${why})` };
  };
}
