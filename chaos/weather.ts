import type { Weather } from "./storm.ts";

/** A thousand kills and a hundred falls of the server in twenty minutes. */
export const long: Omit<Weather, "seconds" | "workers" | "seed" | "say"> = {
  clients: 12,
  leaseMs: 2_000,
  rates: { killMs: 850, sleepMs: 2_000, asleepMs: 2_500, fallMs: 8_000, terminateMs: 2_000, cutMs: 400 },
};
