import type { Entry, Store } from "../src/core/store/store.ts";
import type { Engine } from "../src/engine/api/engine-api.ts";
import type { OpenRun } from "../src/engine/api/open-run-api.ts";
import { memoryStore } from "../src/store/memory/memory-store.ts";
import { openDatabase } from "../src/store/sqlite/open-database.ts";
import type { SqliteDatabase } from "../src/store/sqlite/sqlite-driver.ts";
import { openSqlite } from "../src/store/sqlite/sqlite-store.ts";
import { prepareJournal } from "./journal-layout.ts";
import { measureTime } from "./measure-time.ts";
import { type Measurement, measureRates } from "./measurement.ts";
import { median } from "./samples.ts";
import { withScratchFile } from "./scratch-file.ts";
import { measureWork, type WorkCost } from "./work-cost.ts";
import { benchPrincipal, openBenchEngine } from "./workload.ts";

const calls = 500;
const longSession = 5000;

/** Measures calls per second of an open run, one after the other, beside the same rows without an engine. */
export function openRunSpeed(id: string, effect: "reads" | "acts"): Measurement {
  const pair = {
    engine: () =>
      withScratchFile((file) => withOpenRun(openSqlite(file), (run) => measureTime(() => callTools(run, effect)))),
    limit: async () => {
      const entries = await recordEntries(effect);
      return withScratchFile(async (file) => {
        const { db } = openDatabase(file);
        const took = await measureTime(entryWriter(db, entries));
        db.close();
        return took;
      });
    },
  };
  return {
    id,
    about: `${calls} calls of a tool that ${effect} in one open run, sequential`,
    limitAbout: "the events, heads and ledger rows of the same calls, in as many transactions",
    unit: "calls/s",
    goal: { of: "ratio", atLeast: 0.5 },
    hasCold: true,
    round: (order) => measureRates(order, calls, pair),
    work: () => withScratchFile((file) => withOpenRun(openSqlite(file), (run) => workOfCalls(run, effect))),
  };
}

/** Measures the cost of a call at the end of a long session, relative to its begin. The limit is 1. */
export function openRunFlatness(id: string): Measurement {
  return {
    id,
    about: `one open run of ${longSession} reads: the cost of a call at the end`,
    limitAbout: "the cost of a call at call 100",
    unit: "times",
    goal: { of: "ratio", atMost: 1.15 },
    maxRounds: 3,
    round: async () => {
      const costs = await withScratchFile((file) => withOpenRun(openSqlite(file), callCosts));
      const value = median(costs.slice(-200)) / median(costs.slice(0, 200));
      return { value, limit: 1, ratio: value };
    },
  };
}

async function withOpenRun<Result>(store: Store, work: (run: OpenRun) => Promise<Result>): Promise<Result> {
  const engine: Engine = await openBenchEngine(store, "every");
  try {
    return await work(await engine.openRun({ principal: benchPrincipal, session: "bench" }));
  } finally {
    await engine.close();
  }
}

async function callTools(run: OpenRun, effect: "reads" | "acts", from = 0): Promise<void> {
  for (let n = from; n < from + calls; n += 1) await callOnce(run, effect, n);
}

/** Counts the work of calls, after others that warm up. */
async function workOfCalls(run: OpenRun, effect: "reads" | "acts"): Promise<WorkCost> {
  let made = 0;
  const callNext = async () => {
    await callTools(run, effect, made);
    made += calls;
  };
  await callNext();
  return measureWork(calls, callNext);
}

async function callOnce(run: OpenRun, effect: "reads" | "acts", n: number): Promise<void> {
  const { status } = await run.callTool({ id: `call_${n}`, tool: `bench.${effect}`, input: { n } });
  if (status !== "succeeded") throw new Error(`call ${n} is ${status}`);
}

async function callCosts(run: OpenRun): Promise<readonly number[]> {
  const costs: number[] = [];
  for (let n = 0; n < longSession; n += 1) {
    const begin = performance.now();
    await callOnce(run, "reads", n);
    costs.push(performance.now() - begin);
  }
  return costs;
}

/** Makes the calls on a store in memory and returns the entries that they append. */
async function recordEntries(effect: "reads" | "acts"): Promise<readonly Entry[]> {
  const store = memoryStore();
  const entries: Entry[] = [];
  const append: Store["append"] = (sent) => {
    entries.push(...sent);
    return store.append(sent);
  };
  await withOpenRun({ ...store, append }, async (run) => {
    entries.splice(0);
    await callTools(run, effect);
  });
  return entries.filter(({ events }) => events.some(({ type }) => type.startsWith("step.")));
}

function entryWriter(db: SqliteDatabase, entries: readonly Entry[]): () => void {
  db.exec("pragma synchronous = full");
  const begin = db.prepare("begin immediate");
  const commit = db.prepare("commit");
  const journal = prepareJournal(db, "log");
  const begun = new Set<string>();
  const putLedger = db.prepare(
    `insert into ledger (tenant, key, version, row) values (?, ?, 1, ?)
     on conflict (tenant, key) do update set version = version + 1, row = excluded.row`,
  );
  return () => {
    for (const { tenant, run, events, puts } of entries) {
      begin.run();
      const last = events.at(-1);
      if (last !== undefined) journal[begun.has(run) ? "updateHead" : "insertHead"](tenant, run, last);
      begun.add(run);
      for (const event of events) journal.insertEvent(tenant, run, event);
      for (const { table, key, row } of puts) if (table === "ledger") putLedger.run(tenant, key, row);
      commit.run();
    }
  };
}
