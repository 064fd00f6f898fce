import type { Expression } from "../../core/expression.ts";
import type { Clause } from "../rule.ts";

/** An expression has to hold of every call. One that cannot be answered does not. */
export function condition(expression: Expression, reason: string | null): Clause {
  return (call) => {
    const holds = call.asks(expression);
    if (holds === true) return null;
    const why =
      holds === false
        ? `${expression.source} does not hold`
        : `${expression.source} cannot be answered: ${holds.wrong}`;
    return { says: "refuse", reason: reason === null ? why : `${reason} (${why})` };
  };
}
