import type { BudgetView } from "../../../src/engine/api/engine-api.ts";

/** The lines of a burn-down chart, as points of SVG. */
export interface BurnDown {
  readonly past: string;
  readonly future: string;
  readonly now: { readonly x: number; readonly y: number };
}

/** Returns the rest of a limit over its window. Null: the limit has no window, or the window has no end. */
export function burnDown(
  { limit, used, forecast, window }: Pick<BudgetView, "limit" | "used" | "forecast" | "window">,
  now: number,
  size: { readonly width: number; readonly height: number },
): BurnDown | null {
  if (window === null || limit === 0) return null;
  const { from, until } = window;
  const share = Math.min(1, Math.max(0, (now - from) / (until - from)));
  const x = round(share * size.width);
  const yOf = (spent: number) => round((size.height * Math.min(spent, limit)) / limit);
  const y = yOf(used);
  const end = forecast ?? used;
  // The line meets the bottom where the limit is used up.
  const meets = end > limit && end > used ? (limit - used) / (end - used) : 1;
  const endX = round(x + (size.width - x) * Math.max(0, meets));
  return { past: `0,0 ${x},${y}`, future: `${x},${y} ${endX},${yOf(end)}`, now: { x, y } };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
