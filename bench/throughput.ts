import type { Store } from "../src/core/store.ts";
import type { Database } from "../src/store/sqlite/driver.ts";
import { openDatabase } from "../src/store/sqlite/open.ts";
import { sqlite, sqliteStore } from "../src/store/sqlite/sqlite-store.ts";
import { counting, nothingWritten } from "./counted-writes.ts";
import { limitOf } from "./limit.ts";
import { type Goal, type Measurement, rateSideBySide, type Traffic } from "./measurement.ts";
import { bytesOf, withScratch } from "./scratch.ts";
import { splitOf, type TimeSplit } from "./time-split.ts";
import { collectLeftovers, timed } from "./timed.ts";
import { openEngineFor, type Workload, work } from "./workload.ts";

/** How many steps a second, beside the limit. */
export function throughput(id: string, about: string, workload: Workload, goal: Goal | null): Measurement {
  const clock = workload.order === "parallel" ? fromReady : fromSubmitted;
  const pair = {
    engine: () => withScratch((file) => clock(file, workload)),
    limit: () => withScratch((file) => limitTime(openDatabase(file).db, workload)),
  };
  return {
    id,
    about,
    beside: "the least an honest engine must write for the same steps",
    unit: "steps/s",
    goal,
    round: (order) => rateSideBySide(order, workload.runs * workload.steps, pair),
    traffic: () => trafficOf(workload),
    split: () => splitOver(workload),
  };
}

/** From the first plan handed in to the last run at rest. */
async function fromSubmitted(file: string, workload: Workload): Promise<number> {
  const engine = await openEngineFor(workload, sqlite(file));
  try {
    return await timed(() => work(engine, workload));
  } finally {
    await engine.close();
  }
}

/** From the moment a run is accepted, when all of its steps are ready, to the moment it is at rest, summed over the runs. */
async function fromReady(file: string, workload: Workload): Promise<number> {
  const store = sqlite(file);
  let ready = 0;
  const append: Store["append"] = async (entries) => {
    const landings = await store.append(entries);
    if (entries.some(({ expect }) => expect.position === 0)) ready = performance.now();
    return landings;
  };
  const engine = await openEngineFor(workload, { ...store, append });
  let spent = 0;
  for (let count = 0; count < workload.runs; count += 1) {
    collectLeftovers();
    await work(engine, { ...workload, runs: 1 });
    spent += performance.now() - ready;
  }
  await engine.close();
  return spent;
}

async function limitTime(db: Database, workload: Workload): Promise<number> {
  const write = await limitOf(workload);
  try {
    return await timed(write(db));
  } finally {
    db.exec("pragma wal_checkpoint(truncate)"); // As the store does when it closes, so that files can be compared.
    db.close();
  }
}

async function trafficOf(workload: Workload): ReturnType<NonNullable<Measurement["traffic"]>> {
  const engine = await counted(workload, async (db, file) => {
    const engine = await openEngineFor(workload, sqliteStore(db, file));
    await work(engine, workload);
    await engine.close();
  });
  const limit = await counted(workload, async (db) => void (await limitTime(db, workload)));
  return { engine, limit };
}

async function counted(
  { runs, steps }: Workload,
  write: (db: Database, file: string) => Promise<void>,
): Promise<Traffic> {
  return withScratch(async (file) => {
    const writes = nothingWritten();
    await write(counting(openDatabase(file).db, writes), file);
    const each = (count: number) => count / (runs * steps);
    const { rows, transactions, syncs } = writes;
    return {
      rows: each(rows),
      transactions: each(transactions),
      syncs: each(syncs),
      bytes: each(bytesOf(file)),
    };
  });
}

function splitOver(workload: Workload): Promise<TimeSplit> {
  return withScratch(async (file) => {
    const engine = await openEngineFor(workload, sqlite(file));
    await work(engine, workload);
    const parts = await splitOf(() => work(engine, workload));
    await engine.close();
    return parts;
  });
}
