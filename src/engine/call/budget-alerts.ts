import { budgetAlerts, type CallLimit } from "../../core/call/counted-limits.ts";
import { alertTally, type BudgetAlert } from "../../core/limits/budget-alert.ts";
import type { Tenant } from "../../core/values/ids.ts";
import { ConditionFailedError, FencedError, isStoreFault } from "../journal/append-errors.ts";
import type { CallContext } from "./call-context.ts";

/**
 * Records an alert for each level that a budget of the call has reached, once per level and window. An alert is not part
 * of the call: if the store fails, the next call that is charged to the budget records it.
 */
export async function recordBudgetAlerts(context: CallContext, limits: readonly CallLimit[]): Promise<void> {
  try {
    for (const limit of limits) await checkLimit(context, limit);
  } catch (error) {
    if (!(error instanceof FencedError) && !isStoreFault(error)) throw error;
  }
}

async function checkLimit(context: CallContext, limit: CallLimit): Promise<void> {
  const { ports, mailbox } = context;
  const { tenant } = mailbox.run;
  const last = budgetAlerts(limit, limit.most).at(-1);
  if (last === undefined || ports.alerted.has(alertName(tenant, last))) return;
  const used = await ports.store.used(tenant, last.tally);
  for (const alert of budgetAlerts(limit, used)) await recordAlert(context, alert);
}

async function recordAlert({ ports, mailbox }: CallContext, alert: BudgetAlert): Promise<void> {
  const { alerted, clock } = ports;
  const name = alertName(mailbox.run.tenant, alert);
  if (alerted.has(name)) return;
  try {
    await mailbox.ask(() => ({ type: "alert", now: clock.now(), alert }));
  } catch (error) {
    if (!(error instanceof ConditionFailedError)) throw error; // Another call has recorded it.
  }
  if (alerted.size >= ALERTED_MAX) alerted.clear();
  alerted.add(name);
}

/** Limits the memory for recorded alerts; the store knows all of them. */
const ALERTED_MAX = 10_000;

function alertName(tenant: Tenant, alert: BudgetAlert): string {
  return `${tenant}\0${alertTally(alert)}`;
}
