import { HALTS_MOST } from "../core/halt.ts";
import { AMOUNT_MOST } from "../core/limits/budget.ts";

/** What somebody may ask for at once, say, or set. */
export const askingLimits = {
  list: 1000,
  reason: 10_000,
  haltReason: 1000,
  halts: HALTS_MOST,
  amount: AMOUNT_MOST,
} as const;
