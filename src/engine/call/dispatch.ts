import type { Grant } from "../../core/decide/command.ts";
import type { Decision } from "../../core/decide/decide.ts";
import type { AttemptReport } from "./attempt-report.ts";
import { recordBudgetAlerts } from "./budget-alerts.ts";
import type { CallContext } from "./call-context.ts";

/** Stage 6. Delivers the notices of the committed call, and records the alerts of the budgets that it was charged to. */
export function dispatch(
  context: CallContext,
  grant: Grant,
  report: AttemptReport,
  committed: Decision,
): Promise<void> | null {
  deliverNotices(context, committed);
  const { limits } = grant.proposal;
  return limits.length === 0 || !report.called ? null : recordBudgetAlerts(context, limits);
}

/** Delivers the notices of a committed success. */
export function deliverNotices(context: CallContext, committed: Decision): void {
  for (const event of committed.events)
    if (event.type === "step.succeeded" && event.notices !== undefined) context.deliver(event.notices);
}
