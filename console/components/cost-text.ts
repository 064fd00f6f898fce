import type { CostEstimate } from "../../src/core/limits/budget.ts";
import { usdText } from "./amount-text.ts";
import { durationText } from "./relative-time-text.ts";

/** An amount of money, of credits and of tokens. */
interface SpentAmounts {
  readonly usd_micros?: number;
  readonly credits?: number;
  readonly tokens_in?: number;
  readonly tokens_out?: number;
}

/** Returns what was spent, such as `$0.0312 · 1,200 + 310 tokens`. Empty: nothing. */
export function costText({ usd_micros = 0, credits = 0, tokens_in = 0, tokens_out = 0 }: SpentAmounts): string {
  const parts: string[] = [];
  if (usd_micros > 0) parts.push(usdText(usd_micros));
  if (credits > 0) parts.push(`${credits.toLocaleString("en")} credits`);
  if (tokens_in + tokens_out > 0)
    parts.push(`${tokens_in.toLocaleString("en")} + ${tokens_out.toLocaleString("en")} tokens`);
  return parts.join(" · ");
}

/** Returns the expected cost of a call as one line. */
export function estimateText(estimate: CostEstimate | null): string {
  if (estimate === null) return "unknown";
  const cost = costText(estimate);
  const duration = estimate.ms === undefined ? "" : durationText(estimate.ms);
  return [cost, duration].filter((part) => part !== "").join(" · ") || "nothing";
}
