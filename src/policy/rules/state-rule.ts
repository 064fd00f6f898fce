import type { Expression } from "../../core/ports/expression.ts";
import type { NamedStatePointers } from "../../core/state/named-state-pointers.ts";
import type { RuleCheck } from "./rule.ts";

/** Refuses calls if a condition on the project's state at the start of the call is false or cannot be evaluated. */
export function stateRule(pointers: NamedStatePointers, expression: Expression, reason: string | null): RuleCheck {
  return (call) => {
    const collected = call.collectState(pointers);
    const holds = "wrong" in collected ? collected : call.evaluate(expression, collected.state);
    if (holds === true) return null;
    const why = holds === false ? "is false" : `cannot be evaluated: ${holds.wrong}`;
    const violation = `${expression.source} ${why}`;
    return { says: "refuse", reason: reason === null ? violation : `${reason} (${violation})` };
  };
}
