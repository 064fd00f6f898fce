import type { Clock } from "../../core/ports/clock.ts";
import type { Claim, ClaimTerms, Store } from "../../core/store/store.ts";
import type { TimerRow } from "../../core/store/tables.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import type { FakeClock } from "../fake-clock.ts";
import { assertLands, rowJson, tenantA, timerJson, workerA } from "./contract-rule.ts";

/** Gives each run one event and a timer that is due in the given number of milliseconds. Returns the current time. */
export async function setTimers(
  store: Store,
  clock: FakeClock,
  inMs: Readonly<Record<string, number>>,
  tenant: Tenant = tenantA,
): Promise<number> {
  const now = clock.now();
  for (const [run, ms] of Object.entries(inMs)) {
    const puts = [{ table: "timer", key: run, was: "any", row: timerJson(now + ms) }] as const;
    await assertLands(store, { tenant, run: run as RunId, puts });
  }
  return now;
}

/** Gives each run a due timer with these fields, such as a queue and a priority. */
export async function setQueuedTimers(
  store: Store,
  clock: Clock,
  timers: Readonly<Record<string, Partial<TimerRow>>>,
): Promise<void> {
  for (const [run, fields] of Object.entries(timers)) {
    const timer = { table: "timer", key: run, was: "any", row: rowJson({ due_at: clock.now(), ...fields }) } as const;
    await assertLands(store, { run: run as RunId, puts: [timer] });
  }
}

export async function claimDueRuns(store: Store, limit: number, terms?: ClaimTerms): Promise<readonly string[]> {
  return runsOf(await store.claimDue(workerA, limit, terms));
}

export function runsOf(claims: readonly Claim[]): readonly string[] {
  return claims.map(({ run }) => run);
}
