import type { DailySpending } from "../../../src/engine/api/activity-api.ts";

export const spendingUnits = ["usd_micros", "tokens_in", "tokens_out", "credits"] as const;
export type SpendingUnit = (typeof spendingUnits)[number];

export const unitTitles: Readonly<Record<SpendingUnit, string>> = {
  usd_micros: "US dollars",
  tokens_in: "Tokens in",
  tokens_out: "Tokens out",
  credits: "Credits",
};

/** An amount under a name: of a day, a person or a tool. */
export interface NamedAmount {
  readonly name: string;
  readonly amount: number;
}

const dayMs = 86_400_000;

/** Returns the days of a range that ends today, in UTC, as spending is counted. */
export function daysUntil(now: number, count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => new Date(now - (count - 1 - at) * dayMs).toISOString().slice(0, 10));
}

/** Returns the spending of each day, also of those without any. */
export function amountsByDay(
  rows: readonly DailySpending[],
  days: readonly string[],
  unit: SpendingUnit,
): readonly NamedAmount[] {
  const amounts = new Map<string, number>();
  for (const row of rows) amounts.set(row.day, (amounts.get(row.day) ?? 0) + (row[unit] ?? 0));
  return days.map((name) => ({ name, amount: amounts.get(name) ?? 0 }));
}

/** Returns the spending of each principal, the highest first. */
export function amountsByPrincipal(rows: readonly DailySpending[], unit: SpendingUnit): readonly NamedAmount[] {
  const amounts = new Map<string, number>();
  for (const row of rows) amounts.set(row.by, (amounts.get(row.by) ?? 0) + (row[unit] ?? 0));
  return highestFirst([...amounts].map(([name, amount]) => ({ name, amount })));
}

/** Returns the amounts that are not zero, the highest first. */
export function highestFirst(amounts: readonly NamedAmount[]): readonly NamedAmount[] {
  return amounts.filter(({ amount }) => amount > 0).toSorted((one, other) => other.amount - one.amount);
}

/** Returns a round number that is at least the highest amount: the top of an axis. */
export function axisTop(amounts: readonly NamedAmount[]): number {
  const most = Math.max(0, ...amounts.map(({ amount }) => amount));
  if (most === 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= most) ?? 10;
  return step * power;
}
