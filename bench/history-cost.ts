import type { Engine } from "../src/engine/api/engine-api.ts";
import { connectSqlite } from "../src/store/sqlite/sqlite-driver.ts";
import { openSqlite } from "../src/store/sqlite/sqlite-store.ts";
import { collectYoungGarbage, measureTime } from "./measure-time.ts";
import { type Measurement, measurePair } from "./measurement.ts";
import { sampleMedian } from "./samples.ts";
import { newScratchFile } from "./scratch-file.ts";
import { benchTools, openBenchEngine, runWorkload, type Workload } from "./workload.ts";

/** Runs in the file before the measurement, of ten steps each. */
const shortHistory = 100;
const longHistory = 100_000;

const endedRuns = { effects: ["reads"], steps: 10, atOnce: 50, order: "chain", durability: "process" } as const;

const measuredRuns: Workload = { ...endedRuns, runs: 200, atOnce: 1, durability: "every" };

/** Measures a step in a file with a long history, relative to a short one. */
export function historyStep(id: string, files: HistoryFiles): Measurement {
  return {
    id,
    about: `200 runs × 10 reads, sequential, in a file with ${longHistory} ended runs: time per step`,
    limitAbout: `the same in a file with ${shortHistory} ended runs`,
    unit: "ms",
    goal: { of: "ratio", atMost: 1.15 },
    round: (order) =>
      measurePair(order, {
        engine: async () => (await timeRuns(await files.long())) / (measuredRuns.runs * measuredRuns.steps),
        limit: async () => (await timeRuns(await files.short())) / (measuredRuns.runs * measuredRuns.steps),
      }),
  };
}

/** Measures the start of an engine on a file with a long history, relative to a short one. */
export function historyOpen(id: string, files: HistoryFiles): Measurement {
  return {
    id,
    about: `from opening a file with ${longHistory} ended runs to an engine that takes work`,
    limitAbout: `the same of a file with ${shortHistory} ended runs`,
    unit: "ms",
    goal: { of: "ratio", atMost: 1.5 },
    round: (order) =>
      measurePair(order, {
        engine: async () => timeOpening(await files.long()),
        limit: async () => timeOpening(await files.short()),
      }),
  };
}

/** Two files that are made at their first use and removed when the process ends. */
export interface HistoryFiles {
  readonly short: () => Promise<string>;
  readonly long: () => Promise<string>;
}

export function historyFiles(): HistoryFiles {
  const make = (runs: number) => {
    let made: Promise<string> | null = null;
    return () => {
      made ??= makeHistory(runs);
      return made;
    };
  };
  return { short: make(shortHistory), long: make(longHistory) };
}

/** Executes a hundred runs, and copies their rows under other names: executing all of them would take minutes. */
async function makeHistory(runs: number): Promise<string> {
  const { file, clear } = newScratchFile();
  process.once("exit", clear);
  const engine = await openBenchEngine(openSqlite(file), endedRuns.durability);
  await runWorkload(engine, { ...endedRuns, runs: shortHistory });
  await engine.close();
  if (runs > shortHistory) copyRuns(file, runs / shortHistory);
  return file;
}

/** Every run has a head, a row and a lease that was released, as an ended run leaves them. */
function copyRuns(file: string, times: number): void {
  const db = connectSqlite(file);
  db.exec(`
    pragma synchronous = off;
    create temp table original as select * from head;
    create temp table copy as
      with recursive number(n) as (select 1 union all select n + 1 from number where n < ${times - 1})
      select n, (select max(seq) from event) * n as offset, 'run_' || printf('%08d', n) || '_' as prefix from number;`);
  const copyTable = (table: string, columns: string, values: string) =>
    db.exec(`insert into ${table} (${columns}) select ${values} from copy, (select * from ${table})`);
  db.exec("begin");
  db.exec(`insert into event (seq, journal, position, type, v, at, hash, tenant, run, body_hash, body)
    select seq + offset, journal + offset, position, type, v, at, hash, tenant, prefix || run, body_hash, body
    from copy, (select * from event)`);
  db.exec(`insert into head (tenant, run, journal, position, hash)
    select tenant, prefix || run, journal + offset, position, hash from copy, original`);
  copyTable(
    "run",
    "tenant, key, version, row",
    "tenant, prefix || key, version, json_set(row, '$.run_id', prefix || key)",
  );
  copyTable("lease", "tenant, run, epoch, worker, prior, since", "tenant, prefix || run, epoch, worker, prior, since");
  // Synced, so that the disk has nothing left to write during the measurement.
  db.exec("commit; pragma synchronous = full; pragma wal_checkpoint(truncate)");
  db.close();
}

async function timeRuns(file: string): Promise<number> {
  const engine = await openBenchEngine(openSqlite(file), measuredRuns.durability);
  collectYoungGarbage();
  try {
    return await measureTime(() => runWorkload(engine, measuredRuns));
  } finally {
    await engine.close();
  }
}

function timeOpening(file: string): Promise<number> {
  const tools = benchTools();
  return sampleMedian(9, async () => {
    const engines: Engine[] = [];
    const took = await measureTime(async () => {
      engines.push(await openBenchEngine(openSqlite(file), "every", tools));
    });
    for (const engine of engines) await engine.close();
    return took;
  });
}
