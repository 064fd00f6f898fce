import type { Event } from "../event.ts";
import type { Instant } from "../id.ts";
import type { Run } from "../run.ts";
import type { Charge } from "../store.ts";
import type { Cost } from "../tool.ts";
import type { Unit } from "./budget.ts";
import type { Charged, Reserved } from "./charged.ts";

const told = ["usd_micros", "credits", "tokens_in", "tokens_out"] as const;

/** What events charge, each within the limit that it names. */
export function chargesOf(events: readonly Event[]): readonly Charge[] {
  const all: Charge[] = [];
  for (const event of events) {
    const charges: readonly (Charged | Reserved)[] = ("charges" in event && event.charges) || [];
    for (const charge of charges)
      all.push({ tally: charge.tally, amount: charge.amount, limit: "limit" in charge ? charge.limit : null });
  }
  return all;
}

/** The tallies that a cost is added to: per principal and day, per project and per tenant and month, in UTC. */
export function chargesFor(run: Run, cost: Cost, at: Instant): readonly Charged[] {
  const { day, month } = dateOf(at);
  return told.flatMap((unit) => {
    const amount = cost[unit];
    if (amount === 0) return [];
    return [
      { tally: tallyOf(unit, "principal", run.principal.id, day), amount },
      { tally: tallyOf(unit, "tenant", "", month), amount },
      ...(run.project === null ? [] : [{ tally: tallyOf(unit, "project", run.project, month), amount }]),
    ];
  });
}

export function tallyOf(
  unit: (typeof told)[number],
  whose: "principal" | "project" | "tenant",
  id: string,
  period: string,
): string {
  return whose === "tenant" ? `${unit}/tenant/${period}` : `${unit}/${whose}/${period}/${id}`;
}

/** The civil date of an instant, by counting days from 0000-03-01, where leap days come last. */
export function dateOf(at: Instant): { readonly day: string; readonly month: string } {
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

/** How much of a unit a cost is. */
export function amountOf(unit: Exclude<Unit, "calls" | "ms">, cost: Cost): number {
  return unit === "tokens" ? cost.tokens_in + cost.tokens_out : cost[unit];
}
