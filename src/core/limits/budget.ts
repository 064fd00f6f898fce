import { isPlainObject } from "../json/plain-object.ts";
import type { Zone } from "../time/zone.ts";

/** What a limit counts. `tokens` are those in and out together, `ms` is how long handlers ran. */
export const units = ["usd_micros", "credits", "tokens_in", "tokens_out", "tokens", "calls", "ms"] as const;
export type Unit = (typeof units)[number];

/** How much may be spent: by one call, by one run with all its forks, or by someone in a time. */
export interface Budget {
  readonly unit: Unit;
  readonly limit: number;
  readonly per: (typeof budgetScopes)[number];
  /** Only calls of this tool count. */
  readonly tool?: string;
}

/** How often something may be called. Whoever comes too often waits for the next window. */
export interface Rate {
  readonly calls: number;
  readonly per: (typeof rateScopes)[number];
  readonly tool?: string;
}

export const budgetScopes = [
  "call",
  "run",
  "user-hour",
  "user-day",
  "user-month",
  "project-hour",
  "project-day",
  "project-month",
  "tenant-hour",
  "tenant-day",
  "tenant-month",
] as const;
export const rateScopes = [
  "user-minute",
  "user-hour",
  "project-minute",
  "project-hour",
  "tenant-minute",
  "tenant-hour",
] as const;

/** Every limit that a tenant is under. */
export interface Allowance {
  readonly budgets: readonly Budget[];
  readonly rates: readonly Rate[];
  /** Whose days and months they are. */
  readonly zone: Zone;
  /** Null: they are settings of the engine or of the tenant. */
  readonly rule: LimitRule | null;
}

/** The rule of a policy that a limit is. What it counts is counted for nothing else. */
export interface LimitRule {
  /** Layer, document and rule: what the record calls it. */
  readonly id: string;
  readonly reason: string | null;
  /** Where it stands, in the name of a tally: two projects may each have a rule of one id. */
  readonly place: string;
}

/** What a call is expected to spend. What is left out is nothing. */
export type Estimate = Readonly<Partial<Record<(typeof estimated)[number], number>>>;

export const estimated = ["usd_micros", "credits", "tokens_in", "tokens_out", "ms"] as const;

/** What is wrong with an estimate: a budget must not be passed by what is no number. */
export function estimateProblems(given: unknown): readonly string[] {
  if (!isPlainObject(given)) return [`cost must be an object with ${estimated.join(", ")}`];
  return Object.entries(given).flatMap(([unit, amount]) => {
    if (!estimated.includes(unit as never)) return [`cost has no ${unit}, only ${estimated.join(", ")}`];
    return isAmount(amount) ? [] : [`a cost of ${String(amount)} ${unit} is not a whole number from 0`];
  });
}

/** Sums of them stay whole, however many there are. */
export function isAmount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= AMOUNT_MOST;
}

export const AMOUNT_MOST = 1e15;
