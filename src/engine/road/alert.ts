import type { Tenant } from "../../core/id.ts";
import { type Alert, alertTally } from "../../core/limits/alert.ts";
import { alertsOf, type Toll } from "../../core/limits/toll.ts";
import { Fenced, isStoreFault, RowLost } from "../record/mailbox.ts";
import type { Way } from "./way.ts";

/**
 * Tells that budgets which a call was charged to are used up so far, once for each level in each window, whoever spends from them.
 * It is no part of the call: what the store keeps it from telling, the next call that is charged there does.
 */
export async function tellAlerts(way: Way, tolls: readonly Toll[]): Promise<void> {
  try {
    for (const toll of tolls) await lookAt(way, toll);
  } catch (error) {
    if (!(error instanceof Fenced) && !isStoreFault(error)) throw error;
  }
}

async function lookAt(way: Way, toll: Toll): Promise<void> {
  const { ports, mailbox } = way;
  const { tenant } = mailbox.run;
  const last = alertsOf(toll, toll.most).at(-1);
  if (last === undefined || ports.alerted.has(nameOf(tenant, last))) return;
  const used = await ports.store.used(tenant, last.tally);
  for (const alert of alertsOf(toll, used)) await tell(way, alert);
}

async function tell({ ports, mailbox }: Way, alert: Alert): Promise<void> {
  const { alerted, clock } = ports;
  const name = nameOf(mailbox.run.tenant, alert);
  if (alerted.has(name)) return;
  try {
    await mailbox.ask({ type: "alert", now: clock.now(), alert });
  } catch (error) {
    if (!(error instanceof RowLost)) throw error; // Somebody else was first.
  }
  if (alerted.size >= ALERTED_MOST) alerted.clear();
  alerted.add(name);
}

/** So many are remembered; the record knows of all. */
const ALERTED_MOST = 10_000;

function nameOf(tenant: Tenant, alert: Alert): string {
  return `${tenant}\0${alertTally(alert)}`;
}
