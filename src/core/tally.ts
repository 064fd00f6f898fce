import type { Charged } from "./event.ts";
import type { Instant } from "./id.ts";
import type { Run } from "./run.ts";
import type { Cost } from "./tool.ts";

const units = ["usd_micros", "credits", "tokens_in", "tokens_out"] as const;

/** The tallies that a cost is added to: per principal and day, per tenant and month, in UTC. */
export function chargesFor(run: Run, cost: Cost, at: Instant): readonly Charged[] {
  const { day, month } = dateOf(at);
  return units.flatMap((unit) => {
    const amount = cost[unit];
    if (amount === 0) return [];
    return [
      { tally: tallyOf(unit, "principal", run.principal.id, day), amount },
      { tally: tallyOf(unit, "tenant", "", month), amount },
    ];
  });
}

export function tallyOf(
  unit: (typeof units)[number],
  whose: "principal" | "tenant",
  id: string,
  period: string,
): string {
  return whose === "tenant" ? `${unit}/tenant/${period}` : `${unit}/principal/${period}/${id}`;
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
