import { verbReach } from "../../core/approval/judge-verb.ts";
import { stateBounds } from "../../core/approval/principal.ts";
import { costTally } from "../../core/call/cost-charges.ts";
import type { Store, Tally } from "../../core/store/store.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Tenant } from "../../core/values/ids.ts";
import type { DailySpending, SpentByDay, SpentByDayOptions } from "../api/activity-api.ts";
import { readPrincipal } from "../api/read-principal.ts";
import { requestLimits } from "../api/request-limits.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { assertFilters } from "./list-page.ts";

const units = ["usd_micros", "credits", "tokens_in", "tokens_out"] as const;

/** Reports the spending of each principal on each day, from the tallies of principals and days. */
export async function reportSpentByDay({ store }: WorkerPorts, options: SpentByDayOptions): Promise<SpentByDay> {
  const principal = readPrincipal(options.principal);
  const { from, to, by } = options;
  assertFilters({ by });
  assertDays(from, to);
  const isOwn = verbReach(principal, "spentByDay") !== "tenant" || stateBounds(principal).length > 0;
  const shown = (name: string) => (!isOwn || name === principal.id) && (by === undefined || name === by);
  const days = new Map<string, { -readonly [Field in keyof DailySpending]: DailySpending[Field] }>();
  let complete = true;
  for (const unit of units) {
    const { tallies, isWhole } = await talliesOfDays(store, principal.tenant, unit, from, to);
    complete &&= isWhole;
    for (const { tally, used } of tallies) {
      const [day, name] = dayAndPrincipal(tally);
      if (!shown(name) || used === 0) continue;
      const key = JSON.stringify([day, name]);
      const row = days.get(key) ?? { day, by: name };
      row[unit] = used;
      days.set(key, row);
    }
  }
  const inOrder = [...days].sort(([one], [other]) => (one < other ? -1 : 1));
  return { days: inOrder.map(([, row]) => row), complete };
}

/** Reads the tallies of a unit for all principals in a range of days. Their names are in the order of the days. */
async function talliesOfDays(
  store: Store,
  tenant: Tenant,
  unit: (typeof units)[number],
  from: string,
  to: string,
): Promise<{ readonly tallies: readonly Tally[]; readonly isWhole: boolean }> {
  const most = requestLimits.tallies;
  const found = await store.tallies(tenant, costTally(unit, "principal", "", from), most);
  const prefix = costTally(unit, "principal", "", "").slice(0, -1);
  const tallies = found.filter(({ tally }) => tally.startsWith(prefix) && dayAndPrincipal(tally)[0] <= to);
  return { tallies, isWhole: tallies.length < most };
}

/** The tally of a principal is `<unit>/principal/<day>/<id>`. */
function dayAndPrincipal(tally: string): readonly [day: string, principal: string] {
  const [, , day = "", ...name] = tally.split("/");
  return [day, name.join("/")];
}

function assertDays(from: string, to: string): void {
  const [first, last] = [from, to].map(timeOfDay);
  if (first === undefined || last === undefined || Number.isNaN(first) || Number.isNaN(last))
    throw new FaultError(fault("INVALID_INPUT", "from and to must be existing days, such as 2026-11-18"));
  const days = (last - first) / 86_400_000 + 1;
  if (days < 1 || days > requestLimits.spendingDays)
    throw new FaultError(
      fault("INVALID_INPUT", `from must not be after to, and the range has at most ${requestLimits.spendingDays} days`),
    );
}

/** Returns the beginning of a day. Not a number: there is no such day. Date.parse would read November 31 as December 1. */
function timeOfDay(day: unknown): number {
  if (typeof day !== "string" || !/^\d{4}-\d\d-\d\d$/.test(day)) return Number.NaN;
  const at = Date.parse(day);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(day) ? at : Number.NaN;
}
