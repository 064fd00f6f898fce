import { readFileSync, writeFileSync } from "node:fs";
import { connect, type Database } from "../src/store/sqlite/driver.ts";
import { sqlite } from "../src/store/sqlite/sqlite-store.ts";
import { withScratch } from "./scratch.ts";
import { benchTools, openEngine, planOf, principal, type Workload, work } from "./workload.ts";

/** A store as an earlier process left it, to be laid out anew wherever it is needed. */
export interface LeftStore {
  /** Lends a copy that nobody has used before. */
  withCopy<Result>(use: (file: string) => Promise<Result>): Promise<Result>;
}

/** One long run of which every step is done but the last, which is ready. */
export function almostDone(steps: number): LeftStore {
  return leftBy(async (file) => {
    let calls = 0;
    let closed = Promise.resolve();
    const tools = benchTools(() => {
      calls += 1;
      // An engine that closes lets this step end and starts no other.
      if (calls === steps - 1) closed = engine.close();
    });
    const engine = await openEngine(sqlite(file), "process", tools);
    const run = await engine.submit(planOf({ effects: ["reads"], steps, order: "chain" }), { principal });
    await run.result().catch(() => {}); // The engine was closed, as was meant.
    await closed;
  });
}

/** Runs that have all ended. */
export function allDone(workload: Workload): LeftStore {
  return leftBy(async (file) => {
    const engine = await openEngine(sqlite(file), workload.durability);
    await work(engine, workload);
    await engine.close();
  });
}

function leftBy(make: (file: string) => Promise<void>): LeftStore {
  let made: Promise<Uint8Array> | null = null;
  return {
    withCopy: async (use) => {
      made ??= withScratch(async (file) => {
        await make(file);
        return readFileSync(file);
      });
      const bytes = await made;
      return withScratch((file) => {
        writeFileSync(file, bytes, { mode: 0o600 });
        return use(file);
      });
    },
  };
}

/**
 * Reads journals without doing anything with them: every column of every row
 * made a value of JavaScript by the driver, the blobs that bodies were moved to, and every byte of it looked at once.
 */
export function rawReader(file: string): { readonly events: () => number; readonly close: () => void } {
  const db = connect(file);
  return { events: () => readAll(db), close: () => db.close() };
}

function readAll(db: Database): number {
  const runs = db.prepare("select run from head where tenant = ? order by run");
  const events = db.prepare(
    `select position, type, v, at, body, hash, body_hash from event
     where tenant = ? and run = ? and position > ? order by position limit ?`,
  );
  const blobs = db.prepare("select bytes from blob where tenant = ?");
  for (const statement of [runs, events, blobs]) statement.setReturnArrays(true);
  const { tenant } = principal;
  let count = 0;
  for (const [run] of runs.all(tenant) as readonly [string][]) {
    const rows = events.all(tenant, run, 0, -1) as readonly Row[];
    for (const row of rows) touch(row);
    count += rows.length;
  }
  for (const row of blobs.all(tenant) as readonly Row[]) touch(row);
  return count;
}

type Row = readonly (string | number | Uint8Array | null)[];

/** What is not used need not be read; the sum is what it is used for. */
const used = { sum: 0 };

function touch(row: Row): void {
  for (const value of row) {
    if (typeof value === "string") for (let at = 0; at < value.length; at += 1) used.sum ^= value.charCodeAt(at);
    else if (typeof value === "number") used.sum ^= value;
    else if (value !== null) for (const byte of value) used.sum ^= byte;
  }
}
