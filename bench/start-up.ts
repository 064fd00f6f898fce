import type { Engine } from "../src/engine/api.ts";
import { connect } from "../src/store/sqlite/driver.ts";
import { sqlite } from "../src/store/sqlite/sqlite-store.ts";
import type { LeftStore } from "./left-store.ts";
import { type Measurement, sideBySide } from "./measurement.ts";
import { medianOf } from "./samples.ts";
import { timed } from "./timed.ts";
import { benchTools, openEngine } from "./workload.ts";

const tries = 9;

/** How long an engine takes to be there on a store in which nothing is due. */
export function startUp(id: string, left: LeftStore): Measurement {
  const pair = {
    engine: () => medianOf(tries, () => left.withCopy(engineTime)),
    limit: () => medianOf(tries, () => left.withCopy(openTime)),
  };
  return {
    id,
    about: "from opening an existing store to an engine that takes work, in a process that has done so before",
    beside: "opening the file with the driver and reading its schema",
    unit: "ms",
    goal: null,
    round: (order) => sideBySide(order, pair),
  };
}

async function engineTime(file: string): Promise<number> {
  const engines: Engine[] = [];
  const tools = benchTools();
  const took = await timed(async () => {
    engines.push(await openEngine(sqlite(file), "every", tools));
  });
  for (const engine of engines) await engine.close();
  return took;
}

function openTime(file: string): Promise<number> {
  return timed(() => {
    const db = connect(file);
    db.prepare("select count(*) from sqlite_schema").get();
    db.close();
  });
}
