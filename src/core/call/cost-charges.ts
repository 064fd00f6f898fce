import type { Event } from "../event/event.ts";
import type { LimitUnit } from "../limits/budget.ts";
import type { LimitedCharge, TallyCharge } from "../limits/tally-charge.ts";
import type { Run } from "../run/run.ts";
import type { Charge } from "../store/store.ts";
import type { Cost } from "../tool/tool.ts";
import type { Instant } from "../values/ids.ts";

const costUnits = ["usd_micros", "credits", "tokens_in", "tokens_out"] as const;

/** Returns the charges of the events, each with its limit. */
export function eventCharges(events: readonly Event[]): readonly Charge[] {
  const all: Charge[] = [];
  for (const event of events) {
    const charges: readonly (TallyCharge | LimitedCharge)[] = ("charges" in event && event.charges) || [];
    for (const charge of charges)
      all.push({ tally: charge.tally, amount: charge.amount, limit: "limit" in charge ? charge.limit : null });
  }
  return all;
}

/** Returns the charges of a cost: per principal and day, and per project and tenant and month, in UTC. */
export function costCharges(run: Run, cost: Cost, at: Instant): readonly TallyCharge[] {
  const { day, month } = utcDate(at);
  return costUnits.flatMap((unit) => {
    const amount = cost[unit];
    if (amount === 0) return [];
    return [
      { tally: costTally(unit, "principal", run.principal.id, day), amount },
      { tally: costTally(unit, "tenant", "", month), amount },
      ...(run.project === null ? [] : [{ tally: costTally(unit, "project", run.project, month), amount }]),
    ];
  });
}

export function costTally(
  unit: (typeof costUnits)[number],
  whose: "principal" | "project" | "tenant",
  id: string,
  period: string,
): string {
  return whose === "tenant" ? `${unit}/tenant/${period}` : `${unit}/${whose}/${period}/${id}`;
}

/** Returns the UTC date of an instant. It counts days from 0000-03-01, so that leap days come last in a year. */
export function utcDate(at: Instant): { readonly day: string; readonly month: string } {
  const days = Math.floor(at / 86_400_000) + 719_468;
  const era = Math.floor(days / 146_097);
  const dayOfEra = days - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shifted = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * shifted + 2) / 5) + 1;
  const month = shifted < 10 ? shifted + 3 : shifted - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  const monthText = `${String(year).padStart(4, "0")}-${String(month).padStart(2, "0")}`;
  return { day: `${monthText}-${String(day).padStart(2, "0")}`, month: monthText };
}

/** Returns the part of a cost that a limit in this unit counts. */
export function costAmount(unit: Exclude<LimitUnit, "calls" | "ms">, cost: Cost): number {
  return unit === "tokens" ? cost.tokens_in + cost.tokens_out : cost[unit];
}
