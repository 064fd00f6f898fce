import { isPlainObject } from "../json/plain-object.ts";
import { TimeZone } from "../time/time-zone.ts";
import type { RunId } from "../values/ids.ts";

/** The units of limits. `tokens` is the sum of tokens in and out, `ms` is the execution time of handlers. */
export const limitUnits = ["usd_micros", "credits", "tokens_in", "tokens_out", "tokens", "calls", "ms"] as const;
export type LimitUnit = (typeof limitUnits)[number];

/**
 * The amount that may be spent by one call, by one run with all its forks, by one session, or by a user, project or tenant in a window.
 */
export interface Budget {
  readonly unit: LimitUnit;
  readonly limit: number;
  readonly per: (typeof budgetScopes)[number];
  /** Only calls of this tool count. */
  readonly tool?: string;
}

/** The number of calls allowed in a time window. A call beyond it waits for the next window. */
export interface Rate {
  readonly calls: number;
  readonly per: (typeof rateScopes)[number];
  /** The calls that may start at once: as many again follow evenly over the window. Default: all of them. */
  readonly burst?: number;
  readonly tool?: string;
}

/** An amount that the run of one submission may spend, with its child runs and its forks. */
export interface RunBudget {
  readonly unit: LimitUnit;
  readonly limit: number;
  /** Only calls of this tool count. */
  readonly tool?: string;
}

/** The budgets of a submission, and the run that was submitted. */
export interface RunBudgets {
  readonly run: RunId;
  readonly limits: readonly RunBudget[];
}

export const budgetScopes = [
  "call",
  "run",
  "session",
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

/** All limits of a tenant. */
export interface LimitSet {
  readonly budgets: readonly Budget[];
  readonly rates: readonly Rate[];
  /** The time zone that defines days and months. */
  readonly zone: TimeZone;
  /** Null: the limits are settings of the engine or of the tenant, or terms of a submission. */
  readonly rule: LimitRule | null;
  /** The submitted run whose terms the limits are. Its child runs and forks share its tallies. */
  readonly submission?: RunId;
}

const utc = TimeZone.of("UTC") as TimeZone;

/** Returns the limits that a submission has set for its run, and for the child runs of it. */
export function submissionLimits({ run, limits }: RunBudgets): LimitSet {
  return {
    budgets: limits.map((budget) => ({ ...budget, per: "run" })),
    rates: [],
    zone: utc,
    rule: null,
    submission: run,
  };
}

/** The policy rule that sets a limit. It has its own tallies, shared with no other limit. */
export interface LimitRule {
  /** Layer, document and rule, as recorded in events. */
  readonly id: string;
  readonly reason: string | null;
  /** The place of the policy, as part of the tally name: two projects may each have a rule with the same id. */
  readonly place: string;
}

/** The expected cost of a call. An absent unit is 0. */
export type CostEstimate = Readonly<Partial<Record<(typeof estimatedUnits)[number], number>>>;

export const estimatedUnits = ["usd_micros", "credits", "tokens_in", "tokens_out", "ms"] as const;

/** Returns the problems of an estimate. A value that is not a number must not pass a budget. */
export function estimateProblems(given: unknown): readonly string[] {
  if (!isPlainObject(given)) return [`cost must be an object with ${estimatedUnits.join(", ")}`];
  return Object.entries(given).flatMap(([unit, amount]) => {
    if (!estimatedUnits.includes(unit as never)) return [`cost has no ${unit}, only ${estimatedUnits.join(", ")}`];
    return isCostAmount(amount) ? [] : [`a cost of ${String(amount)} ${unit} is not a whole number from 0`];
  });
}

/** True for a whole number small enough that sums of many amounts stay exact. */
export function isCostAmount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= COST_AMOUNT_MAX;
}

export const COST_AMOUNT_MAX = 1e15;
