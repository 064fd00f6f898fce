import type { Expression } from "../../core/ports/expression.ts";
import type { RuleCheck } from "./rule.ts";
import { collectState, type NamedStatePointers } from "./state-pointers.ts";

/** Refuses calls if a condition on the project's state at the start of the call is false or cannot be evaluated. */
export function stateRule(pointers: NamedStatePointers, expression: Expression, reason: string | null): RuleCheck {
  return ({ admission, input, data }) => {
    const collected = collectState(pointers, input, (path) => admission.proposal.policy_state?.places[path]);
    const answer = "wrong" in collected ? collected : expression.test({ ...data, state: collected.state });
    if ("holds" in answer && answer.holds) return null;
    const why = "wrong" in answer ? `cannot be evaluated: ${answer.wrong}` : "does not hold";
    const violation = `${expression.source} ${why}`;
    return { says: "refuse", reason: reason === null ? violation : `${reason} (${violation})` };
  };
}
