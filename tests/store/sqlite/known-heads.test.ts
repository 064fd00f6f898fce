import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import type { Epoch, RunId, WorkerId } from "../../../src/core/values/ids.ts";
import { openDatabase } from "../../../src/store/sqlite/open-database.ts";
import type { SqliteDatabase, SqliteStatement } from "../../../src/store/sqlite/sqlite-driver.ts";
import { openSqlite, sqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { sqliteStatements } from "../../../src/store/sqlite/statements.ts";
import { evictWorker } from "../../../src/store/sqlite/worker-statements.ts";
import { fakeClock } from "../../../src/testing/fake-clock.ts";
import {
  appendEntry,
  assertLands,
  buildEvent,
  claimRun,
  rowJson,
  runA,
  runB,
  tenantA,
  workerA,
  workerB,
} from "../../../src/testing/store-contract/contract-rule.ts";
import { evictFrom } from "./evict-from.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-heads-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

/** Opens a store that lists its statements, except those that begin and end transactions. */
function openListed() {
  const { db, file } = openDatabase(join(folder, `${files++}.db`));
  const executed: string[] = [];
  const listed = (statement: SqliteStatement, sql: string): SqliteStatement => {
    const list = () => {
      if (!/^(begin|commit|pragma)/.test(sql)) executed.push(sql.trim().split(/\s+/).slice(0, 3).join(" "));
    };
    return {
      run: (...values) => {
        list();
        return statement.run(...values);
      },
      get: (...values) => {
        list();
        return statement.get(...values);
      },
      all: (...values) => {
        list();
        return statement.all(...values);
      },
      setReturnArrays: (enabled) => statement.setReturnArrays(enabled),
    };
  };
  const database: SqliteDatabase = {
    get isTransaction() {
      return db.isTransaction;
    },
    prepare: (sql) => listed(db.prepare(sql), sql),
    exec: (sql) => db.exec(sql),
    close: () => db.close(),
  };
  const clock = fakeClock();
  const evict = (worker: WorkerId) => evictWorker(sqliteStatements(database), worker);
  const store = sqliteStore(database, file, { clock, stopwatch: () => clock.now(), leaseMs: 1000 });
  onTestFinished(() => store.close());
  const headRow = () => {
    const other = openDatabase(file).db;
    const row = other.prepare("select position from head where run = ?").get(runA) as { position: number };
    other.close();
    return row.position;
  };
  return { store, file, clock, executed, headRow, evict };
}

const runRow = { table: "run", key: runA, was: "any", row: rowJson({ status: "completed" }) } as const;

/** Accepts and claims the run, and appends a step. Returns the epoch. */
async function leasedRun({ store }: ReturnType<typeof openListed>): Promise<Epoch> {
  await assertLands(store, {});
  const { epoch } = await claimRun(store);
  await assertLands(store, { at: 1, epoch });
  return epoch;
}

describe("heads", () => {
  it("are neither read nor written by the results of a leased run while no other connection writes", async () => {
    const opened = openListed();
    const epoch = await leasedRun(opened);
    opened.executed.splice(0);
    await assertLands(opened.store, { at: 2, epoch });
    await assertLands(opened.store, { at: 3, epoch });
    expect(opened.executed).toEqual(["insert into event", "insert into event"]);
    expect(opened.headRow()).toBe(1);
  });

  it("are at the last event while their rows are behind it", async () => {
    const opened = openListed();
    const epoch = await leasedRun(opened);
    await assertLands(opened.store, { at: 2, epoch });
    const events = await opened.store.events(tenantA, runA, 0);
    const last = events[2]?.hash.toString();
    const head = await opened.store.head(tenantA, runA);
    const [journal] = await opened.store.journals(tenantA, "", 10);
    for (const found of [head, journal?.head])
      expect([found?.position, Buffer.from(found?.hash ?? "").toString()]).toEqual([3, last]);
    const held = { tenant: tenantA, run: runA, worker: workerA, epoch };
    expect(await opened.store.heldRuns([held])).toMatchObject([{ position: 3 }]);
  });

  it("have a row at the last event after every entry that is not only beginnings and results of calls", async () => {
    const opened = openListed();
    const epoch = await leasedRun(opened);
    await assertLands(opened.store, { at: 2, epoch, puts: [runRow] });
    expect(opened.headRow()).toBe(3);
    await assertLands(opened.store, { at: 3, epoch });
    await assertLands(opened.store, { at: 4 });
    expect(opened.headRow()).toBe(5);
    const failed = { ...buildEvent(6), type: "step.failed" };
    await assertLands(opened.store, { at: 5, epoch, events: [failed, buildEvent(7)] });
    expect(opened.headRow()).toBe(7);
  });

  it("have a row at the last event when the worker has released the run, also after a restart of the program", async () => {
    const opened = openListed();
    const epoch = await leasedRun(opened);
    await assertLands(opened.store, { at: 2, epoch });
    const claim = { tenant: tenantA, run: runA, worker: workerA, epoch };
    await Promise.all([assertLands(opened.store, { at: 3, epoch }), opened.store.release(claim)]);
    expect(opened.headRow()).toBe(4);
    const again = await claimRun(opened.store);
    await assertLands(opened.store, { at: 4, epoch: again.epoch });
    const other = openSqlite(opened.file);
    await other.release(again);
    await other.close();
    expect(opened.headRow()).toBe(5);
  });

  it.each([
    ["the event of the row is deleted", "delete from event where position = 2"],
    ["the event of the row has another hash", "update event set hash = zeroblob(32) where position = 2"],
  ])("are those of their rows if %s", async (_, sql) => {
    const opened = openListed();
    const epoch = await leasedRun(opened);
    await assertLands(opened.store, { at: 2, epoch });
    const { db } = openDatabase(opened.file);
    db.exec(`update head set position = 2, hash = (select hash from event where position = 2); ${sql}`);
    db.close();
    expect((await opened.store.head(tenantA, runA))?.position).toBe(2);
  });

  it("are those of their rows for an audit if an event follows that no call writes", async () => {
    const opened = openListed();
    const epoch = await leasedRun(opened);
    await assertLands(opened.store, { at: 2, epoch });
    const audited = async () => (await opened.store.journals(tenantA, "", 9)).map(({ head }) => head?.position);
    const { db } = openDatabase(opened.file);
    db.exec("update head set position = 2, hash = (select hash from event where position = 2)");
    expect(await audited()).toEqual([3]);
    db.exec("update event set type = 'evidence.kept' where position = 3");
    db.close();
    expect(await audited()).toEqual([2]);
  });

  it("are read again after another connection has appended, and the entry that follows the old head is refused", async () => {
    const opened = openListed();
    const epoch = await leasedRun(opened);
    const other = openSqlite(opened.file);
    await assertLands(other, { at: 2 });
    await other.close();
    expect(await appendEntry(opened.store, { at: 2, epoch })).toMatchObject({
      landed: false,
      why: "position",
      position: 3,
    });
    await assertLands(opened.store, { at: 3, epoch });
  });

  it("are right after a transaction that was undone", async () => {
    const opened = openListed();
    const epoch = await leasedRun(opened);
    const ledger = (key: string, was: number | null) => ({ table: "ledger", key, was, row: rowJson({ was }) }) as const;
    await assertLands(opened.store, { run: runB });
    const [landed, refused] = await Promise.all([
      appendEntry(opened.store, { at: 2, epoch }),
      appendEntry(opened.store, { run: runB, at: 1, puts: [ledger("a", null), ledger("b", 7)] }),
    ]);
    expect([landed, refused]).toMatchObject([{ landed: true }, { landed: false, why: "row" }]);
    await assertLands(opened.store, { at: 3, epoch });
  });

  it("of more runs than are remembered keep their positions", async () => {
    const { store } = openListed();
    const runs = Array.from({ length: 10_001 }, (_, index) => `run-${index}` as RunId);
    await Promise.all(runs.map((run) => assertLands(store, { run })));
    await assertLands(store, { run: runs[0] as RunId, at: 1 });
    expect(await appendEntry(store, { run: runs[1] as RunId, at: 2 })).toMatchObject({
      landed: false,
      why: "position",
    });
  });
});

describe("a remembered epoch", () => {
  const changes: readonly (readonly [string, (opened: ReturnType<typeof openListed>, epoch: Epoch) => unknown])[] = [
    ["a claim of the same worker", ({ store }) => store.claim(workerA, tenantA, runA)],
    ["an eviction by another process", ({ file }) => evictFrom(file, workerA)],
    ["an eviction by this process", ({ evict }) => evict(workerA)],
    ["a lease that its worker leaves out of its renewals", ({ store, clock }) => leaveOut(store, clock)],
    ["a release, and a claim of another worker", ({ store }, epoch) => handOver(store, epoch)],
  ];

  it.each(changes)("is not trusted after %s", async (_, change) => {
    const opened = openListed();
    const epoch = await leasedRun(opened);
    await change(opened, epoch);
    expect(await appendEntry(opened.store, { at: 2, epoch })).toMatchObject({ landed: false, why: "epoch" });
    expect((await opened.store.head(tenantA, runA))?.position).toBe(2);
  });
});

type OpenedStore = ReturnType<typeof openListed>["store"];

async function leaveOut(store: OpenedStore, clock: ReturnType<typeof fakeClock>): Promise<void> {
  await store.renew(workerA, []);
  clock.advance(5000);
  await store.renew(workerA, []);
}

async function handOver(store: OpenedStore, epoch: Epoch): Promise<void> {
  await store.release({ tenant: tenantA, run: runA, worker: workerA, epoch });
  await store.claim(workerB, tenantA, runA);
}
