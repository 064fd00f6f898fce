import { postgres } from "../../src/store/postgres/postgres-store.ts";
import { measureTime } from "../measure-time.ts";
import {
  type Measurement,
  type MeasurementGoal,
  type MeasurementOrder,
  type MeasurementRound,
  measureRates,
} from "../measurement.ts";
import { median } from "../samples.ts";
import { measureSplit, type TimeSplit } from "../time-split.ts";
import { benchTools, openBenchEngine, runWorkload, type Workload } from "../workload.ts";
import type { BenchServer } from "./bench-server.ts";
import { timePostgresLimit } from "./postgres-write-limit.ts";

/** Measures steps per second beside the limit. */
export function postgresThroughput(
  server: BenchServer,
  id: string,
  about: string,
  workload: Workload,
  goal: MeasurementGoal | null,
): Measurement {
  return {
    id,
    about,
    limitAbout: "the least that a correct engine must write for the same steps",
    unit: "steps/s",
    goal,
    round: (order) =>
      measureRates(order, workload.runs * workload.steps, {
        engine: () => timeEngine(server, workload),
        limit: () => timePostgresLimit(server, workload),
      }),
    split: () => splitWorkload(server, workload),
  };
}

async function splitWorkload(server: BenchServer, workload: Workload): Promise<TimeSplit> {
  await server.empty();
  const engine = await openBenchEngine(await postgres(server.url), workload.durability);
  try {
    return await measureSplit(() => runWorkload(engine, workload));
  } finally {
    await engine.close();
  }
}

async function timeEngine(server: BenchServer, workload: Workload): Promise<number> {
  await server.empty();
  const engine = await openBenchEngine(await postgres(server.url), workload.durability);
  try {
    return await measureTime(() => runWorkload(engine, workload));
  } finally {
    await engine.close();
  }
}

/** Measures the processor time of the server per step, beside that of the limit. */
export function serverCost(server: BenchServer, id: string, about: string, workload: Workload): Measurement {
  const steps = workload.runs * workload.steps;
  return {
    id,
    about,
    limitAbout: "its processor time for the limit",
    unit: "µs/step",
    goal: null,
    round: async (order: MeasurementOrder): Promise<MeasurementRound> => {
      const engineFirst = order === "engine first" ? await measureEngineCost(server, workload) : null;
      const limit = await measureLimitCost(server, workload);
      const value = engineFirst ?? (await measureEngineCost(server, workload));
      return { value: value / steps, limit: limit / steps, ratio: value / limit };
    },
  };
}

/** Reads the processor time before the connections close, because ended processes are not counted. */
async function measureEngineCost(server: BenchServer, workload: Workload): Promise<number> {
  await server.empty();
  const engine = await openBenchEngine(await postgres(server.url), workload.durability);
  const before = server.cpu();
  await runWorkload(engine, workload);
  const after = server.cpu();
  await engine.close();
  return after - before;
}

async function measureLimitCost(server: BenchServer, workload: Workload): Promise<number> {
  let cost = 0;
  const clients = { opened: 0 };
  const observed: BenchServer = {
    ...server,
    connect: async () => {
      const client = await server.connect();
      const end = client.end.bind(client);
      clients.opened += 1;
      if (clients.opened === 1) cost = -server.cpu();
      client.end = async () => {
        clients.opened -= 1;
        if (clients.opened === (workload.atOnce === 1 ? 0 : 1)) cost += server.cpu();
        await end();
      };
      return client;
    },
  };
  await timePostgresLimit(observed, workload);
  return cost;
}

const steps = 10_000;

/** Measures the cost of the 10,000th step of a run, relative to the 100th. The limit is 1. */
export function postgresFlatness(server: BenchServer, id: string): Measurement {
  return {
    id,
    about: "one run of 10000 sequential steps: the cost of a step at the end",
    limitAbout: "the cost of a step at step 100",
    unit: "times",
    goal: { of: "ratio", atMost: 1.15 },
    maxRounds: 3,
    round: async () => {
      await server.empty();
      const calls: number[] = [];
      const tools = benchTools(() => calls.push(performance.now()));
      const engine = await openBenchEngine(await postgres(server.url), "process", tools);
      await runWorkload(engine, {
        effects: ["reads"],
        runs: 1,
        steps,
        atOnce: 1,
        order: "chain",
        durability: "process",
      });
      await engine.close();
      const costs = calls.slice(1).map((call, at) => call - (calls[at] ?? 0));
      const value = median(costs.slice(-200)) / median(costs.slice(0, 200));
      return { value, limit: 1, ratio: value };
    },
  };
}
