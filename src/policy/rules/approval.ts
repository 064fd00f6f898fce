import { type Demand, demandText } from "../../core/demand.ts";
import type { Clause } from "../rule.ts";

/** Someone has to say yes: whoever the demand is for. */
export function approval(demand: Demand, reason: string | null): Clause {
  return ({ tool }) => ({
    says: "hold",
    demand,
    reason: reason ?? `${tool.name} needs the yes of ${demandText(demand)}`,
  });
}
