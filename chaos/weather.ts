import { failpoints } from "../src/engine/failpoint.ts";
import { once } from "./report.ts";
import type { Weather } from "./storm.ts";

/** Those that a worker passes; the others are for whoever asks and approves. */
const places = failpoints.filter((point) => !/^(accept|approve)\./.test(point));

/** A thousand kills and a hundred falls of the server, on two idle cores in less than twenty minutes. */
export const long = {
  seconds: 900,
  mostSeconds: 3_600,
  least: { ...once, worker_kills: 1_000, server_faults: 100 },
  workers: 6,
  clients: 20,
  leaseMs: 2_000,
  settleMs: 120_000,
  rates: { killMs: 550, sleepMs: 2_000, asleepMs: 2_500, fallMs: 8_000, terminateMs: 2_000, cutMs: 400, places },
} as const satisfies Partial<Weather>;

/** As much as possible in a few seconds; a little more where a machine is slow, until everything has happened once. */
export const brief = {
  ...long,
  seconds: 12,
  mostSeconds: 60,
  least: once,
  workers: 4,
  rates: { ...long.rates, sleepMs: 1_000, asleepMs: 2_300, fallMs: 4_000, terminateMs: 1_000, cutMs: 200 },
} as const satisfies Partial<Weather>;

/** Workers that are stopped when the start of an act is on record and its tool was not called, for longer than their lease. */
export const fainting = {
  ...brief,
  seconds: 10,
  mostSeconds: 10,
  settleMs: 5_000,
  rates: { ...brief.rates, killMs: 5_000, fallMs: 3_600_000, places: ["start.after"] },
} as const satisfies Partial<Weather>;
