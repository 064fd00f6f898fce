import { COST_AMOUNT_MAX } from "../../core/limits/budget.ts";
import { HALTS_MAX } from "../../core/settings/halt.ts";

/** Limits on the arguments of API calls. */
export const requestLimits = {
  list: 1000,
  tools: 10_000,
  reason: 10_000,
  haltReason: 1000,
  halts: HALTS_MAX,
  amount: COST_AMOUNT_MAX,
  refusedInput: 16 * 1024,
  refusedReasons: 20,
  refusedMessage: 4000,
} as const;
