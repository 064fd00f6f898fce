import type { RunSpending } from "../core/run/run.ts";
import { line, type SafeLine } from "./safe-line.ts";

/** Returns the amounts that were spent on one line, or no line if nothing was. */
export function spentLines({
  usd_micros,
  credits,
  tokens_in,
  tokens_out,
}: Omit<RunSpending, "attempts">): readonly SafeLine[] {
  const parts = Object.entries({ credits, tokens_in, tokens_out }).flatMap(([unit, amount]) =>
    amount === 0 ? [] : [`${amount} ${unit}`],
  );
  const all = usd_micros === 0 ? parts : [`$${(usd_micros / 1_000_000).toFixed(6)}`, ...parts];
  return all.length === 0 ? [] : [line`spent: ${all.join(", ")}`];
}
