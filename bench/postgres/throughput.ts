import { postgres } from "../../src/store/postgres/postgres-store.ts";
import { type Goal, type Measurement, type Order, type Round, rateSideBySide } from "../measurement.ts";
import { median } from "../samples.ts";
import { splitOf, type TimeSplit } from "../time-split.ts";
import { timed } from "../timed.ts";
import { benchTools, openEngine, type Workload, work } from "../workload.ts";
import { limitTime } from "./limit.ts";
import type { Place } from "./place.ts";

/** How many steps a second, beside the limit. */
export function throughput(
  place: Place,
  id: string,
  about: string,
  workload: Workload,
  goal: Goal | null,
): Measurement {
  return {
    id,
    about,
    beside: "the least an honest engine must write for the same steps",
    unit: "steps/s",
    goal,
    round: (order) =>
      rateSideBySide(order, workload.runs * workload.steps, {
        engine: () => engineTime(place, workload),
        limit: () => limitTime(place, workload),
      }),
    split: () => splitOver(place, workload),
  };
}

async function splitOver(place: Place, workload: Workload): Promise<TimeSplit> {
  await place.empty();
  const engine = await openEngine(await postgres(place.url), workload.durability);
  try {
    return await splitOf(() => work(engine, workload));
  } finally {
    await engine.close();
  }
}

async function engineTime(place: Place, workload: Workload): Promise<number> {
  await place.empty();
  const engine = await openEngine(await postgres(place.url), workload.durability);
  try {
    return await timed(() => work(engine, workload));
  } finally {
    await engine.close();
  }
}

/** What the server computes for a step, beside what it computes for the limit. */
export function serverCost(place: Place, id: string, about: string, workload: Workload): Measurement {
  const steps = workload.runs * workload.steps;
  return {
    id,
    about,
    beside: "what it computes for the limit",
    unit: "µs/step",
    goal: null,
    round: async (order: Order): Promise<Round> => {
      const early = order === "engine first" ? await engineCost(place, workload) : null;
      const limit = await limitCost(place, workload);
      const value = early ?? (await engineCost(place, workload));
      return { value: value / steps, limit: limit / steps, ratio: value / limit };
    },
  };
}

/** Taken while the connections still stand: what a process of the server has computed is forgotten when it ends. */
async function engineCost(place: Place, workload: Workload): Promise<number> {
  await place.empty();
  const engine = await openEngine(await postgres(place.url), workload.durability);
  const before = place.cpu();
  await work(engine, workload);
  const after = place.cpu();
  await engine.close();
  return after - before;
}

async function limitCost(place: Place, workload: Workload): Promise<number> {
  let cost = 0;
  const clients = { opened: 0 };
  const watched: Place = {
    ...place,
    connect: async () => {
      const client = await place.connect();
      const end = client.end.bind(client);
      clients.opened += 1;
      if (clients.opened === 1) cost = -place.cpu();
      client.end = async () => {
        clients.opened -= 1;
        if (clients.opened === (workload.atOnce === 1 ? 0 : 1)) cost += place.cpu();
        await end();
      };
      return client;
    },
  };
  await limitTime(watched, workload);
  return cost;
}

const steps = 10_000;

/** What the 10,000th step of a run costs, in times of what the 100th costs. Flat is the limit. */
export function flatness(place: Place, id: string): Measurement {
  return {
    id,
    about: "one run of 10000 steps, one after the other: what a step costs at the end",
    beside: "what one costs at step 100",
    unit: "times",
    goal: { of: "ratio", atMost: 1.15 },
    enough: 3,
    round: async () => {
      await place.empty();
      const calls: number[] = [];
      const tools = benchTools(() => calls.push(performance.now()));
      const engine = await openEngine(await postgres(place.url), "process", tools);
      await work(engine, { effects: ["reads"], runs: 1, steps, atOnce: 1, order: "chain", durability: "process" });
      await engine.close();
      const costs = calls.slice(1).map((call, at) => call - (calls[at] ?? 0));
      const value = median(costs.slice(-200)) / median(costs.slice(0, 200));
      return { value, limit: 1, ratio: value };
    },
  };
}
