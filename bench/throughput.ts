import type { Database } from "../src/store/sqlite/driver.ts";
import { openDatabase } from "../src/store/sqlite/open.ts";
import { sqlite, sqliteStore } from "../src/store/sqlite/sqlite-store.ts";
import { counting, nothingWritten } from "./counted-writes.ts";
import { limitOf } from "./limit.ts";
import type { Detail, Goal, Measurement, Order, Round, Traffic } from "./measurement.ts";
import { bytesOf, withScratch } from "./scratch.ts";
import { splitOf } from "./time-split.ts";
import { timed } from "./timed.ts";
import { openEngine, type Workload, work } from "./workload.ts";

/** How many steps a second, from the first plan handed in to the last run at rest, beside the limit. */
export function throughput(id: string, workload: Workload, goal: Goal): Measurement {
  const engine = () => withScratch((file) => engineTime(file, workload));
  const limit = () => withScratch(async (file) => limitTime(openDatabase(file).db, workload));
  return {
    id,
    unit: "steps/s",
    goal,
    round: (order) => round(order, engine, limit, workload.runs * workload.steps),
    detail: () => detail(workload),
  };
}

async function round(
  order: Order,
  engine: () => Promise<number>,
  limit: () => Promise<number>,
  steps: number,
): Promise<Round> {
  const early = order === "engine first" ? await engine() : null;
  const limitMs = await limit();
  const engineMs = early ?? (await engine());
  return { value: (1000 * steps) / engineMs, limit: (1000 * steps) / limitMs, ratio: limitMs / engineMs };
}

async function engineTime(file: string, workload: Workload): Promise<number> {
  const engine = await openEngine(sqlite(file));
  try {
    return await timed(() => work(engine, workload));
  } finally {
    await engine.close();
  }
}

async function limitTime(db: Database, workload: Workload): Promise<number> {
  const write = await limitOf(workload);
  try {
    return await timed(write(db));
  } finally {
    db.close();
  }
}

async function detail(workload: Workload): Promise<Detail> {
  const engine = await traffic(workload, async (db, file) => {
    const counted = await openEngine(sqliteStore(db, file));
    await work(counted, workload);
    await counted.close();
  });
  const limit = await traffic(workload, async (db) => void (await limitTime(db, workload)));
  return { engine, limit, split: await split(workload) };
}

async function traffic(
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

function split(workload: Workload): Promise<Detail["split"]> {
  return withScratch(async (file) => {
    const engine = await openEngine(sqlite(file));
    await work(engine, workload);
    const parts = await splitOf(() => work(engine, workload));
    await engine.close();
    return parts;
  });
}
