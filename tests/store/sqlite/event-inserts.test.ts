import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import type { RunId } from "../../../src/core/values/ids.ts";
import { openDatabase } from "../../../src/store/sqlite/open-database.ts";
import type { SqliteDatabase, SqliteStatement } from "../../../src/store/sqlite/sqlite-driver.ts";
import { openSqlite, sqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import {
  appendEntry,
  assertLands,
  buildEvent,
  fakeHash,
  rowJson,
  runA,
  runB,
  tenantA,
} from "../../../src/testing/store-contract/contract-rule.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-inserts-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

function newFile(): string {
  return join(folder, `${files++}.db`);
}

/** Opens a store that counts the executions of its statements. */
function openCounted() {
  const { db, file } = openDatabase(newFile());
  const executed: string[] = [];
  const counted = (statement: SqliteStatement, sql: string): SqliteStatement => ({
    run: (...values) => {
      executed.push(sql);
      return statement.run(...values);
    },
    get: (...values) => {
      executed.push(sql);
      return statement.get(...values);
    },
    all: (...values) => statement.all(...values),
    setReturnArrays: (enabled) => statement.setReturnArrays(enabled),
  });
  const database: SqliteDatabase = {
    get isTransaction() {
      return db.isTransaction;
    },
    prepare: (sql) => counted(db.prepare(sql), sql),
    exec: (sql) => db.exec(sql),
    close: () => db.close(),
  };
  const store = sqliteStore(database, file);
  onTestFinished(() => store.close());
  const count = (pattern: RegExp) => executed.filter((sql) => pattern.test(sql)).length;
  return { store, file, executed, count };
}

const runs = Array.from({ length: 21 }, (_, index) => `run-${String(index).padStart(2, "0")}` as RunId);

describe("inserts of events", () => {
  it("contain the events of all runs of a transaction, and every run reads its own", async () => {
    const { store, executed, count } = openCounted();
    for (const run of runs) await assertLands(store, { run });
    await Promise.all(runs.map((run) => assertLands(store, { run, at: 1 }))); // Reads the numbers of the journals.
    executed.splice(0);
    const event = (run: RunId) => buildEvent(3, `{"of":"${run}"}`);
    await Promise.all(runs.map((run) => assertLands(store, { run, at: 2, events: [event(run)] })));
    expect(count(/insert into event/)).toBe(3); // Of 16, 4 and 1 events.
    expect(count(/select journal from head/)).toBe(0);
    for (const run of runs) {
      const [, , last] = await store.events(tenantA, run, 0);
      expect(last?.body).toBe(`{"of":"${run}"}`);
    }
  });

  it("are made before a new journal takes the next number, in a transaction with both", async () => {
    const { store } = openCounted();
    for (const run of runs.slice(0, 3)) await assertLands(store, { run });
    const steps = runs.slice(0, 3).map((run) => assertLands(store, { run, at: 1 }));
    const begins = runs.slice(3, 6).map((run) => assertLands(store, { run, events: [buildEvent(1), buildEvent(2)] }));
    await Promise.all([...steps, ...begins]);
    for (const run of runs.slice(0, 6)) {
      const stored = await store.events(tenantA, run, 0);
      expect(stored.map(({ position }) => position)).toEqual([1, 2]);
    }
    expect((await store.journals(tenantA, "", 100)).map(({ run }) => run)).toEqual(runs.slice(0, 6));
  });

  it("contain each event once if the transaction is repeated after a late refusal", async () => {
    const { store } = openCounted();
    const ledger = (key: string, was: number | null) => ({ table: "ledger", key, was, row: rowJson({ was }) }) as const;
    await assertLands(store, { run: runA });
    await assertLands(store, { run: runB, puts: [ledger("b", null)] });
    const [landed, refused] = await Promise.all([
      appendEntry(store, { run: runA, at: 1 }),
      appendEntry(store, { run: runB, at: 1, puts: [ledger("a", null), ledger("b", 7)] }),
    ]);
    expect([landed, refused]).toMatchObject([{ landed: true }, { landed: false, why: "row" }]);
    expect(await store.events(tenantA, runA, 0)).toHaveLength(2);
    expect(await store.events(tenantA, runB, 0)).toHaveLength(1);
  });

  it("follow a journal that another connection gave another number", async () => {
    const { store, file } = openCounted();
    await assertLands(store, { run: runA });
    await assertLands(store, { run: runA, at: 1 });
    const { db } = openDatabase(file);
    db.exec("begin immediate; update event set journal = 77; update head set journal = 77; commit");
    db.close();
    await assertLands(store, { run: runA, at: 2 });
    const stored = await store.events(tenantA, runA, 0);
    expect(stored.map(({ position }) => position)).toEqual([1, 2, 3]);
  });

  it("are seen by an erasure of the same transaction", async () => {
    const { store } = openCounted();
    await assertLands(store, { run: runA });
    const [, erased] = await Promise.all([
      assertLands(store, { run: runA, at: 1 }),
      store.erase({ tenant: tenantA, run: runA, position: 2, keep: [], blobs: [] }, fakeHash),
    ]);
    expect(erased).toBe(2);
    expect((await store.events(tenantA, runA, 0)).map(({ body }) => body)).toEqual([null, null]);
  });
});

describe("tags of a run row", () => {
  const put = (status: string) => ({ table: "run", key: runA, was: "any", row: rowJson({ status }) }) as const;
  const found = async (store: ReturnType<typeof openSqlite>, status: string) => {
    const tags = [`status=${status}`];
    return (await store.search(tenantA, { table: "run", tags, order: "newest", limit: 9 })).rows.length;
  };

  it("are known to the connection that wrote it, which does not read the row again", async () => {
    const { store, executed, count } = openCounted();
    await assertLands(store, { puts: [put("running")] });
    executed.splice(0);
    await assertLands(store, { at: 1, puts: [put("completed")] });
    expect(count(/select key, version, row from run/)).toBe(0);
    expect([await found(store, "running"), await found(store, "completed")]).toEqual([0, 1]);
  });

  it("are read again after a write of another connection", async () => {
    const { store, file } = openCounted();
    await assertLands(store, { puts: [put("running")] });
    const other = openSqlite(file);
    onTestFinished(() => other.close());
    await assertLands(other, { at: 1, puts: [put("waiting")] });
    await assertLands(store, { at: 2, puts: [put("completed")] });
    expect(await Promise.all(["running", "waiting", "completed"].map((one) => found(store, one)))).toEqual([0, 0, 1]);
  });

  it("are those on disk after a transaction that was undone", async () => {
    const { store } = openCounted();
    await assertLands(store, { puts: [put("running")] });
    const ledger = (was: number | null) => ({ table: "ledger", key: "a", was, row: rowJson({ was }) }) as const;
    const refused = { run: runB, puts: [{ ...ledger(null), key: "b" }, ledger(7)] };
    const [landed] = await Promise.all([
      appendEntry(store, { at: 1, puts: [put("waiting")] }),
      appendEntry(store, refused),
    ]);
    expect(landed).toEqual({ landed: true });
    await assertLands(store, { at: 2, puts: [put("completed")] });
    expect(await Promise.all(["running", "waiting", "completed"].map((one) => found(store, one)))).toEqual([0, 0, 1]);
  });
});
