import type { EngineOptions } from "../src/engine/api.ts";
import { Rng } from "./rng.ts";

/** What a scene's tenants are under. */
export type Limits = Required<Pick<EngineOptions, "budgets" | "rates">>;

/** What every tool expects a call to cost; what it does cost is more or less. */
export const EXPECTED_USD = 400;

/** Another chance than the rest of a seed has, so that those without limits play as they always did. */
export function drawLimits(seed: number): Limits | null {
  const rng = new Rng(seed ^ 1334);
  if (!rng.chance(0.15)) return null;
  const tight = rng.chance(0.5);
  return {
    budgets: [
      {
        unit: "usd_micros",
        limit: tight ? rng.between(400, 4000) : 40_000,
        per: rng.pick(["user-hour", "tenant-hour"]),
      },
      // So that every call has something to pay.
      { unit: "calls", limit: tight ? rng.between(1, 30) : 200, per: rng.pick(["run", "tenant-hour", "user-hour"]) },
    ],
    rates: rng.chance(0.5) ? [{ calls: rng.between(1, 6), per: rng.pick(["tenant-minute", "user-minute"]) }] : [],
  };
}
