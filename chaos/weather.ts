import type { Weather } from "./storm.ts";

type Climate = Omit<Weather, "seconds" | "workers" | "seed" | "say">;

/** A thousand kills and a hundred falls of the server in twenty minutes. */
export const long: Climate = {
  clients: 20,
  leaseMs: 2_000,
  settleMs: 120_000,
  rates: { killMs: 850, sleepMs: 2_000, asleepMs: 2_500, fallMs: 8_000, terminateMs: 2_000, cutMs: 400 },
};

/** As much as possible in a quarter of a minute. */
export const brief: Climate = {
  ...long,
  settleMs: 60_000,
  rates: { killMs: 700, sleepMs: 1_000, asleepMs: 2_300, fallMs: 4_000, terminateMs: 1_000, cutMs: 200 },
};
