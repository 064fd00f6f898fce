import type { Store } from "../src/core/store/store.ts";
import { openDatabase } from "../src/store/sqlite/open-database.ts";
import type { SqliteDatabase } from "../src/store/sqlite/sqlite-driver.ts";
import { openSqlite, sqliteStore } from "../src/store/sqlite/sqlite-store.ts";
import { countWrites, newWriteCounts } from "./count-writes.ts";
import type { JournalLayout } from "./journal-layout.ts";
import { collectYoungGarbage, measureTime } from "./measure-time.ts";
import { type Measurement, type MeasurementGoal, measureRates, type WriteTraffic } from "./measurement.ts";
import { storeBytes, withScratchFile } from "./scratch-file.ts";
import { measureSplit, type TimeSplit } from "./time-split.ts";
import { measureWork, type WorkCost } from "./work-cost.ts";
import { openWorkloadEngine, runWorkload, type Workload } from "./workload.ts";
import { prepareWriteLimit } from "./write-limit.ts";

/** Measures steps per second beside the limit. */
export function sqliteThroughput(
  id: string,
  about: string,
  workload: Workload,
  goal: MeasurementGoal | null,
): Measurement {
  const clock = workload.order === "parallel" ? timeFromReady : timeFromSubmit;
  const pair = {
    engine: () => withScratchFile((file) => clock(file, workload)),
    limit: () => withScratchFile((file) => timeLimit(openDatabase(file).db, workload, "clustered")),
    logLimit: () => withScratchFile((file) => timeLimit(openDatabase(file).db, workload, "log")),
  };
  return {
    id,
    about,
    limitAbout: "the least that a correct engine must write for the same steps",
    unit: "steps/s",
    goal,
    hasLogLimit: true,
    hasCold: true,
    round: (order) => measureRates(order, workload.runs * workload.steps, pair),
    traffic: () => measureTraffic(workload),
    split: () => splitWorkload(workload),
    work: () => workOf(workload),
  };
}

/** Measures from the first submission to the end of the last run. */
async function timeFromSubmit(file: string, workload: Workload): Promise<number> {
  const engine = await openWorkloadEngine(workload, openSqlite(file));
  try {
    return await measureTime(() => runWorkload(engine, workload));
  } finally {
    await engine.close();
  }
}

/** Measures from the acceptance of a run, when all its steps are ready, to its end, summed over the runs. */
async function timeFromReady(file: string, workload: Workload): Promise<number> {
  const store = openSqlite(file);
  let ready = 0;
  const append: Store["append"] = async (entries) => {
    const landings = await store.append(entries);
    if (entries.some(({ expect }) => expect.position === 0)) ready = performance.now();
    return landings;
  };
  const engine = await openWorkloadEngine(workload, { ...store, append });
  let spent = 0;
  for (let count = 0; count < workload.runs; count += 1) {
    collectYoungGarbage();
    await runWorkload(engine, { ...workload, runs: 1 });
    spent += performance.now() - ready;
  }
  await engine.close();
  return spent;
}

async function timeLimit(db: SqliteDatabase, workload: Workload, layout: JournalLayout): Promise<number> {
  const write = await prepareWriteLimit(workload);
  try {
    return await measureTime(write(db, layout));
  } finally {
    db.exec("pragma wal_checkpoint(truncate)"); // As the store does at its end, so that sizes are comparable.
    db.close();
  }
}

async function measureTraffic(workload: Workload): ReturnType<NonNullable<Measurement["traffic"]>> {
  const engine = await countTraffic(workload, async (db, file) => {
    const engine = await openWorkloadEngine(workload, sqliteStore(db, file));
    await runWorkload(engine, workload);
    await engine.close();
  });
  const limit = await countTraffic(workload, async (db) => void (await timeLimit(db, workload, "log")));
  return { engine, limit };
}

async function countTraffic(
  { runs, steps }: Workload,
  write: (db: SqliteDatabase, file: string) => Promise<void>,
): Promise<WriteTraffic> {
  return withScratchFile(async (file) => {
    const writes = newWriteCounts();
    await write(countWrites(openDatabase(file).db, writes), file);
    const each = (count: number) => count / (runs * steps);
    const { rows, transactions, syncs } = writes;
    return {
      rows: each(rows),
      transactions: each(transactions),
      syncs: each(syncs),
      bytes: each(storeBytes(file)),
    };
  });
}

/** Counts the work of a tenth of the runs, after as many that warm up. */
function workOf(workload: Workload): Promise<WorkCost> {
  const part = { ...workload, runs: Math.max(1, Math.ceil(workload.runs / 10)) };
  return withScratchFile(async (file) => {
    const engine = await openWorkloadEngine(part, openSqlite(file));
    await runWorkload(engine, part);
    const cost = await measureWork(part.runs * part.steps, () => runWorkload(engine, part));
    await engine.close();
    return cost;
  });
}

function splitWorkload(workload: Workload): Promise<TimeSplit> {
  return withScratchFile(async (file) => {
    const engine = await openWorkloadEngine(workload, openSqlite(file));
    await runWorkload(engine, workload);
    const parts = await measureSplit(() => runWorkload(engine, workload));
    await engine.close();
    return parts;
  });
}
