import { failpoints } from "../src/engine/ports/failpoint.ts";
import type { WorkerFailpoint } from "../src/store/sqlite/worker-failpoints.ts";
import { minimumOnce } from "./chaos-report.ts";
import type { ChaosOptions } from "./run-chaos.ts";

/** The failpoints that a worker passes; clients pass the others. */
const workerFailpoints = failpoints.filter((point) => !/^(accept|approve)\./.test(point));

/** The failpoints of a SQLite store that a worker passes while it works, and while it starts. */
const evictionFailpoints: readonly WorkerFailpoint[] = ["evict.before", "evict.after"];
const startFailpoints: readonly WorkerFailpoint[] = ["register.before", "register.after"];

/** A thousand kills and a hundred server faults: less than twenty minutes on two idle cores. */
export const longChaos = {
  seconds: 900,
  mostSeconds: 3_600,
  least: { ...minimumOnce.postgres, worker_kills: 1_000, server_faults: 100 },
  workers: 6,
  clients: 20,
  leaseMs: 2_000,
  settleMs: 120_000,
  rates: {
    killMs: 550,
    stopMs: 2_000,
    stoppedMs: 2_500,
    pauses: null,
    suspendMs: null,
    startKillMs: null,
    startFailpoints: [],
    failpoints: workerFailpoints,
  },
  store: { kind: "postgres", rates: { crashMs: 8_000, terminateMs: 2_000, cutMs: 400 } },
} as const satisfies Partial<ChaosOptions>;

/** A few seconds, or longer on a slow machine, until every fault has happened once. */
export const briefChaos = {
  ...longChaos,
  seconds: 12,
  mostSeconds: 60,
  least: minimumOnce.postgres,
  workers: 4,
  rates: { ...longChaos.rates, stopMs: 1_000, stoppedMs: 2_300 },
  store: { kind: "postgres", rates: { crashMs: 4_000, terminateMs: 1_000, cutMs: 200 } },
} as const satisfies Partial<ChaosOptions>;

/** Stops workers between the recorded start of an act and the call of its tool, for longer than their lease. */
export const stoppedWorkerChaos = {
  ...briefChaos,
  seconds: 10,
  mostSeconds: 10,
  settleMs: 5_000,
  rates: { ...briefChaos.rates, killMs: 5_000, failpoints: ["start.after"] },
  store: { kind: "postgres", rates: { ...briefChaos.store.rates, crashMs: 3_600_000 } },
} as const satisfies Partial<ChaosOptions>;

/** Ten minutes on one SQLite file. Stops last longer than `stallMs`, and shorter than an act may take. */
export const longSqliteChaos = {
  ...longChaos,
  seconds: 600,
  mostSeconds: 1_200,
  least: { ...minimumOnce.sqlite, worker_kills: 300, zombies: 50, suspends: 5, clock_jumps: 20 },
  workers: 4,
  rates: {
    killMs: 1_000,
    stopMs: 5_000,
    stoppedMs: 4_300,
    pauses: { everyMs: 6_000, pausedMs: 1_200 },
    suspendMs: 45_000,
    startKillMs: 15_000,
    startFailpoints,
    failpoints: [...workerFailpoints, ...evictionFailpoints],
  },
  store: {
    kind: "sqlite",
    stallMs: 3_500,
    rates: { jumpMs: 9_000, unlinkMs: 5_000, readMs: 20_000, fullMs: 20_000, fullForMs: 5_000 },
  },
} as const satisfies Partial<ChaosOptions>;

/** A few seconds on one SQLite file. */
export const briefSqliteChaos = {
  ...longSqliteChaos,
  seconds: 5,
  mostSeconds: 40,
  least: minimumOnce.sqlite,
  rates: {
    ...longSqliteChaos.rates,
    killMs: 500,
    stopMs: 700,
    stoppedMs: 2_100,
    pauses: { everyMs: 2_000, pausedMs: 500 },
    suspendMs: 3_500,
    startKillMs: 700,
  },
  store: {
    kind: "sqlite",
    stallMs: 1_500,
    rates: { jumpMs: 900, unlinkMs: 500, readMs: 2_000, fullMs: 2_500, fullForMs: 1_000 },
  },
} as const satisfies Partial<ChaosOptions>;

/** The faults that show a planted bug soon: many stops and few kills. */
export const plantedSqliteChaos = {
  ...briefSqliteChaos,
  mostSeconds: 8,
  settleMs: 5_000,
  rates: { ...briefSqliteChaos.rates, killMs: 1_000, startKillMs: null },
} as const satisfies Partial<ChaosOptions>;

/** Short stops and clock jumps, and nothing else that may cost a worker its leases. */
export const jumpingClockChaos = {
  ...plantedSqliteChaos,
  rates: {
    ...plantedSqliteChaos.rates,
    killMs: 4_000,
    stopMs: 3_600_000,
    suspendMs: null,
    pauses: { everyMs: 250, pausedMs: 600 },
  },
  store: { ...plantedSqliteChaos.store, rates: { ...plantedSqliteChaos.store.rates, jumpMs: 300, fullMs: 3_600_000 } },
} as const satisfies Partial<ChaosOptions>;
