import type { EngineOptions } from "../src/engine/api/engine-api.ts";
import { Rng } from "./rng.ts";

/** The budgets and rates of a simulation. */
export type SimLimits = Required<Pick<EngineOptions, "budgets" | "rates">>;

/** The expected cost of every call; the actual cost differs. */
export const EXPECTED_COST_USD_MICROS = 400;

/** Draws from a random source of its own, so that seeds without limits stay as they are. */
export function drawSimLimits(seed: number): SimLimits | null {
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
      // A budget on calls charges every call.
      { unit: "calls", limit: tight ? rng.between(1, 30) : 200, per: rng.pick(["run", "tenant-hour", "user-hour"]) },
    ],
    rates: rng.chance(0.5) ? [{ calls: rng.between(1, 6), per: rng.pick(["tenant-minute", "user-minute"]) }] : [],
  };
}
