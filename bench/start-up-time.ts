import type { Engine } from "../src/engine/api/engine-api.ts";
import { connectSqlite } from "../src/store/sqlite/sqlite-driver.ts";
import { openSqlite } from "../src/store/sqlite/sqlite-store.ts";
import { measureTime } from "./measure-time.ts";
import { type Measurement, measurePair } from "./measurement.ts";
import type { PreparedStore } from "./prepared-store.ts";
import { sampleMedian } from "./samples.ts";
import { benchTools, openBenchEngine } from "./workload.ts";

const tries = 9;

/** Measures the start of an engine on a store without due runs. */
export function startUpTime(id: string, store: PreparedStore): Measurement {
  const pair = {
    engine: () => sampleMedian(tries, () => store.withCopy(timeEngine)),
    limit: () => sampleMedian(tries, () => store.withCopy(timeOpen)),
  };
  return {
    id,
    about: "from opening an existing store to an engine that takes work, in a warm process",
    limitAbout: "opening the file with the driver and reading its schema",
    unit: "ms",
    goal: null,
    round: (order) => measurePair(order, pair),
  };
}

async function timeEngine(file: string): Promise<number> {
  const engines: Engine[] = [];
  const tools = benchTools();
  const took = await measureTime(async () => {
    engines.push(await openBenchEngine(openSqlite(file), "every", tools));
  });
  for (const engine of engines) await engine.close();
  return took;
}

function timeOpen(file: string): Promise<number> {
  return measureTime(() => {
    const db = connectSqlite(file);
    db.prepare("select count(*) from sqlite_schema").get();
    db.close();
  });
}
