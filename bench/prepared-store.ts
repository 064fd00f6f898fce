import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import type { JsonObject } from "../src/core/values/json.ts";
import { connectSqlite, type SqliteDatabase } from "../src/store/sqlite/sqlite-driver.ts";
import { openSqlite } from "../src/store/sqlite/sqlite-store.ts";
import { withScratchFile } from "./scratch-file.ts";
import { benchPlan, benchPrincipal, benchTools, openBenchEngine, runWorkload, type Workload } from "./workload.ts";

/** A store that is prepared once and copied for each use. */
export interface PreparedStore {
  /** Calls `use` with a fresh copy. */
  withCopy<Result>(use: (file: string) => Promise<Result>): Promise<Result>;
}

/** Returns a store with one long run whose steps are all done except the last, which is ready. */
export function storeWithAlmostDoneRun(steps: number): PreparedStore {
  return prepareStore(async (file) => {
    let calls = 0;
    let closed = Promise.resolve();
    const tools = benchTools(() => {
      calls += 1;
      // A closing engine completes this step and starts no other.
      if (calls === steps - 1) closed = engine.close();
    });
    const engine = await openBenchEngine(openSqlite(file), "process", tools);
    const run = await engine.submit(benchPlan({ effects: ["reads"], steps, order: "chain" }), {
      principal: benchPrincipal,
    });
    await run.result().catch(() => {}); // The engine was closed on purpose.
    await closed;
  });
}

/** Returns a store with a session of as many turns, each a question and an answer. */
export function storeWithSession(turns: number): PreparedStore {
  return prepareStore(async (file) => {
    const engine = await openBenchEngine(openSqlite(file), "process");
    const run = await engine.openRun({ session: benchSession, principal: benchPrincipal });
    const messages: JsonObject[] = [];
    for (let turn = 1; turn <= turns; turn += 1) {
      messages.push(question(turn));
      await run.recordModelCall({ model: "m", messages }, () => ({ choices: [{ message: answer(turn) }] }));
      messages.push(answer(turn));
    }
    await engine.close();
  });
}

export const benchSession = "long";

/** Returns the messages of the session before its next question, and that question. */
export function sessionMessages(turns: number): readonly JsonObject[] {
  const before = Array.from({ length: turns }, (_, index) => [question(index + 1), answer(index + 1)]).flat();
  return [...before, question(turns + 1)];
}

const question = (turn: number): JsonObject => ({ role: "user", content: `question ${turn} ${"q".repeat(200)}` });
const answer = (turn: number): JsonObject => ({ role: "assistant", content: `answer ${turn} ${"a".repeat(800)}` });

/** Returns a store with ended runs. */
export function storeWithEndedRuns(workload: Workload): PreparedStore {
  return prepareStore(async (file) => {
    const engine = await openBenchEngine(openSqlite(file), workload.durability);
    await runWorkload(engine, workload);
    await engine.close();
  });
}

function prepareStore(make: (file: string) => Promise<void>): PreparedStore {
  let made: Promise<Uint8Array> | null = null;
  return {
    withCopy: async (use) => {
      made ??= withScratchFile(async (file) => {
        await make(file);
        return readFileSync(file);
      });
      const bytes = await made;
      return withScratchFile((file) => {
        writeSynced(file, bytes);
        return use(file);
      });
    },
  };
}

/** Else the first sync of a measurement would write the whole copy to the disk. */
function writeSynced(file: string, bytes: Uint8Array): void {
  const copy = openSync(file, "w", 0o600);
  writeSync(copy, bytes);
  fsyncSync(copy);
  closeSync(copy);
}

/**
 * Reads journals without processing: the driver makes a value of every column of every row and of the blobs, and every
 * byte is visited once.
 */
export function rawReader(file: string): { readonly events: () => number; readonly close: () => void } {
  const db = connectSqlite(file);
  return { events: () => readAll(db), close: () => db.close() };
}

function readAll(db: SqliteDatabase): number {
  const runs = db.prepare("select journal from head where tenant = ? order by run");
  const events = db.prepare(
    `select position, type, v, at, body, hash, body_hash from event
     where journal = ? and position > ? order by position limit ?`,
  );
  const blobs = db.prepare("select bytes from blob where tenant = ?");
  for (const statement of [runs, events, blobs]) statement.setReturnArrays(true);
  const { tenant } = benchPrincipal;
  let count = 0;
  for (const [journal] of runs.all(tenant) as readonly [number][]) {
    const rows = events.all(journal, 0, -1) as readonly Row[];
    for (const row of rows) readBytes(row);
    count += rows.length;
  }
  for (const row of blobs.all(tenant) as readonly Row[]) readBytes(row);
  return count;
}

type Row = readonly (string | number | Uint8Array | null)[];

/** A use of every byte, so that the compiler cannot remove the read. */
const checksum = { sum: 0 };

function readBytes(row: Row): void {
  for (const value of row) {
    if (typeof value === "string") for (let at = 0; at < value.length; at += 1) checksum.sum ^= value.charCodeAt(at);
    else if (typeof value === "number") checksum.sum ^= value;
    else if (value !== null) for (const byte of value) checksum.sum ^= byte;
  }
}
