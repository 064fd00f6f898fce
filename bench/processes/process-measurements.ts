import type { Engine } from "../../src/engine/api/engine-api.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite-store.ts";
import type { Measurement, MeasurementRound } from "../measurement.ts";
import { percentile } from "../samples.ts";
import { withMemoryFile, withScratchFile } from "../scratch-file.ts";
import { benchPrincipal, openBenchEngine, type Workload } from "../workload.ts";
import { benchCall, benchCallPlan } from "./bench-call.ts";
import { BenchProcess, withProcesses } from "./bench-process.ts";
import { machineTime, type ProcessRole } from "./process-role.ts";
import { sqliteScaling } from "./process-scaling.ts";

/** The number of worker processes that share a file. */
const PROCESSES = 4;

const KILLS = 40;
const RUNS_PER_KILL = 5;
const WAKE_UPS = 200;
const MEASURED_MS = 5_000;

/** Another process holds the write lock for this long, again and again. */
const HELD_MS = 200;
const HOLD_PAUSE_MS = 50;

const fewReads: Workload = {
  effects: ["reads"],
  runs: 1,
  steps: 10,
  atOnce: 1,
  order: "chain",
  durability: "process",
};

/** The measurements of several processes on one SQLite file. */
export function processMeasurements(): readonly Measurement[] {
  return [
    {
      id: "kill.claim.sqlite",
      about: `${KILLS} times one of ${PROCESSES} workers is killed with ${RUNS_PER_KILL} runs: from the kill to the next claim of a run, p99`,
      limitAbout: "1 s",
      unit: "ms",
      goal: { of: "value", atMost: 1000 },
      maxRounds: 1,
      round: () => withScratchFile(async (file) => compare(percentile(await killWorkers(file), 0.99), 1000)),
    },
    {
      id: "wake.sqlite",
      about: `${WAKE_UPS} runs submitted one by one: from the accepted run to the call of its tool in another process, p95`,
      limitAbout: "50 ms",
      unit: "ms",
      goal: { of: "value", atMost: 50 },
      maxRounds: 1,
      round: () => withScratchFile(async (file) => compare(percentile(await wakeWorker(file), 0.95), 50)),
    },
    {
      id: "blocked.sqlite",
      about: `an engine at work on a file in memory while another process holds write transactions of ${HELD_MS} ms: the longest turn of the event loop, without the time in which it waited for a processor`,
      limitAbout: "the same without the other process",
      unit: "ms",
      goal: { of: "value", atMost: 20 },
      startsProcesses: true,
      round: () =>
        withMemoryFile(async (file) => compare(await longestTurn(file, "held"), await longestTurn(file, "free"))),
    },
    sqliteScaling("processes.2.sqlite", 2, null),
    sqliteScaling("processes.sqlite", PROCESSES, { of: "ratio", atLeast: 1 }),
    sqliteScaling("processes.8.sqlite", 8, null),
  ];
}

function compare(value: number, limit: number): MeasurementRound {
  return { value, limit, ratio: value / limit };
}

/** Opens an engine that submits runs and executes none. */
function openClient(file: string): Promise<Engine> {
  return openBenchEngine(openSqlite(file), "power", [benchCall], [], false);
}

async function submit(client: Engine, hang: boolean) {
  return client.submit(benchCallPlan(hang), { principal: benchPrincipal });
}

/** Returns the time from the kill of a worker to the claim of each of its runs by another. */
async function killWorkers(file: string): Promise<readonly number[]> {
  const client = await openClient(file);
  const starting = Array.from({ length: PROCESSES }, () => BenchProcess.start({ do: "work", file }));
  const workers = await Promise.all(starting);
  const samples: number[] = [];
  try {
    for (let count = 0; count < KILLS; count += 1) samples.push(...(await killOne(file, client, workers)));
    return samples;
  } finally {
    for (const worker of workers) worker.kill();
    await client.close();
  }
}

/** Kills the worker that holds the first of some runs, and replaces it. */
async function killOne(file: string, client: Engine, workers: BenchProcess[]): Promise<readonly number[]> {
  const handles = await Promise.all(Array.from({ length: RUNS_PER_KILL }, () => submit(client, true)));
  const runs = handles.map(({ run_id }) => run_id);
  const holders = await Promise.all(runs.map((run) => nextClaim(workers, run, 0)));
  const victim = holders[0]?.by as BenchProcess;
  const held = runs.filter((_, at) => holders[at]?.by === victim);
  const killedAt = victim.kill();
  const others = workers.filter((worker) => worker !== victim);
  const claims = await Promise.all(held.map((run) => nextClaim(others, run, killedAt)));
  await Promise.all(handles.map((handle) => handle.cancel()));
  workers.splice(workers.indexOf(victim), 1, await BenchProcess.start({ do: "work", file }));
  return claims.map(({ at }) => at - killedAt);
}

/** Waits until one of the workers reports a claim of the run after a time. */
async function nextClaim(
  workers: readonly BenchProcess[],
  run: string,
  after: number,
): Promise<{ readonly by: BenchProcess; readonly at: number }> {
  for (;;) {
    for (const by of workers)
      for (const report of by.reports)
        if (report.type === "claimed" && report.run === run && report.at > after) return { by, at: report.at };
    await pause(10);
  }
}

/** Returns the time from each accepted run to the call of its tool in another, idle process. */
async function wakeWorker(file: string): Promise<readonly number[]> {
  const client = await openClient(file);
  try {
    return await withProcesses([{ do: "work", file }], async () => {
      const samples: number[] = [];
      for (let count = 0; count < WAKE_UPS; count += 1) {
        const handle = await submit(client, false);
        const acceptedAt = machineTime();
        const { steps } = await handle.result();
        const { output } = steps.call as unknown as { readonly output: { readonly at: number } };
        samples.push(output.at - acceptedAt);
        await pause(Math.random() * 100);
      }
      return samples;
    });
  } finally {
    await client.close();
  }
}

async function longestTurn(file: string, writes: "held" | "free"): Promise<number> {
  const watched: ProcessRole = { do: "watch loop", file, measuredMs: MEASURED_MS, workload: fewReads };
  return withProcesses([watched], async ([process]) => {
    const holder: ProcessRole = { do: "hold writes", file, heldMs: HELD_MS, pauseMs: HOLD_PAUSE_MS };
    return withProcesses(writes === "held" ? [holder] : [], async () => {
      process?.go();
      return (await process?.next("gaps"))?.longest ?? Number.NaN;
    });
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
