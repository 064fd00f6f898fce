import { COST_AMOUNT_MAX } from "../../core/limits/budget.ts";
import { HALTS_MAX } from "../../core/settings/halt.ts";

/** Limits on the arguments of API calls. */
export const requestLimits = {
  list: 1000,
  tools: 10_000,
  counted: 10_000,
  activityRuns: 1000,
  activityEvents: 20_000,
  spendingDays: 92,
  tallies: 10_000,
  samples: 50,
  policyVersions: 200,
  title: 200,
  labels: 16,
  label: 100,
  reason: 10_000,
  haltReason: 1000,
  halts: HALTS_MAX,
  amount: COST_AMOUNT_MAX,
  refusedInput: 16 * 1024,
  refusedReasons: 20,
  refusedMessage: 4000,
} as const;
