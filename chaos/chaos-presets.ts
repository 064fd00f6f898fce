import { failpoints } from "../src/engine/ports/failpoint.ts";
import { minimumOnce } from "./chaos-report.ts";
import type { ChaosOptions } from "./run-chaos.ts";

/** The failpoints that a worker passes; clients pass the others. */
const workerFailpoints = failpoints.filter((point) => !/^(accept|approve)\./.test(point));

/** A thousand kills and a hundred server faults: less than twenty minutes on two idle cores. */
export const longChaos = {
  seconds: 900,
  mostSeconds: 3_600,
  least: { ...minimumOnce, worker_kills: 1_000, server_faults: 100 },
  workers: 6,
  clients: 20,
  leaseMs: 2_000,
  settleMs: 120_000,
  rates: {
    killMs: 550,
    stopMs: 2_000,
    stoppedMs: 2_500,
    crashMs: 8_000,
    terminateMs: 2_000,
    cutMs: 400,
    failpoints: workerFailpoints,
  },
} as const satisfies Partial<ChaosOptions>;

/** A few seconds, or longer on a slow machine, until every fault has happened once. */
export const briefChaos = {
  ...longChaos,
  seconds: 12,
  mostSeconds: 60,
  least: minimumOnce,
  workers: 4,
  rates: { ...longChaos.rates, stopMs: 1_000, stoppedMs: 2_300, crashMs: 4_000, terminateMs: 1_000, cutMs: 200 },
} as const satisfies Partial<ChaosOptions>;

/** Stops workers between the recorded start of an act and the call of its tool, for longer than their lease. */
export const stoppedWorkerChaos = {
  ...briefChaos,
  seconds: 10,
  mostSeconds: 10,
  settleMs: 5_000,
  rates: { ...briefChaos.rates, killMs: 5_000, crashMs: 3_600_000, failpoints: ["start.after"] },
} as const satisfies Partial<ChaosOptions>;
