import type { Expression } from "../../core/expression.ts";
import type { Clause } from "../rule.ts";
import { type StatePlaces, stateAt } from "../state-places.ts";

/** A condition has to hold of the project's state as it is when the call would start. What cannot be judged is refused. */
export function state(places: StatePlaces, expression: Expression, reason: string | null): Clause {
  return ({ admission, input, data }) => {
    const seen = stateAt(places, input, (place) => admission.proposal.seen?.places[place]);
    const answer = "wrong" in seen ? seen : expression.test({ ...data, state: seen.state });
    if ("holds" in answer && answer.holds) return null;
    const why = "wrong" in answer ? `cannot be answered: ${answer.wrong}` : "does not hold";
    const said = `${expression.source} ${why}`;
    return { says: "refuse", reason: reason === null ? said : `${reason} (${said})` };
  };
}
