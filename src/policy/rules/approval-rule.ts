import { type Demand, demandText } from "../../core/approval/approval-demand.ts";
import type { RuleCheck } from "./rule.ts";

/** Holds every call for the approval that is demanded. */
export function approvalRule(demand: Demand, reason: string | null): RuleCheck {
  return ({ tool }) => ({
    says: "hold",
    demand,
    reason: reason ?? `${tool.name} needs the approval of ${demandText(demand)}`,
  });
}
