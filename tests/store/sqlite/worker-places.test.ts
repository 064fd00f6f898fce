import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it, onTestFinished } from "vitest";
import type { Timers } from "../../../src/core/ports/clock.ts";
import type { Store } from "../../../src/core/store/store.ts";
import { FaultError } from "../../../src/core/values/fault.ts";
import { LockFile } from "../../../src/store/sqlite/lock-file.ts";
import { openDatabase } from "../../../src/store/sqlite/open-database.ts";
import type { SqliteDatabase, SqliteStatement } from "../../../src/store/sqlite/sqlite-driver.ts";
import { openSqlite, type SqliteInternals, sqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { fakeClock } from "../../../src/testing/fake-clock.ts";
import { manualTimers } from "../../../src/testing/manual-timers.ts";
import {
  assertLands,
  claimRun,
  runA,
  tenantA,
  workerA,
  workerB,
} from "../../../src/testing/store-contract/contract-rule.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-places-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

const stallMs = 60_000;
const never: Timers = { after: () => () => {} };

/** A new file, a clock and timers. `open` opens the file, and `openOnDisk` on a disk that can be full. */
function setUp() {
  const file = join(folder, `${files++}.db`);
  const clock = fakeClock();
  const timers = manualTimers(clock);
  const ports = { clock, timers, stopwatch: () => clock.now(), stallMs, dice: () => 0.5 };
  const closing = (store: Store): Store => {
    onTestFinished(() => store.close());
    return store;
  };
  /** A stopped process has no timers. */
  const open = (as: "running" | "stopped" = "running", more: SqliteInternals = {}, path = file): Store =>
    closing(openSqlite(path, { ...ports, ...(as === "stopped" && { timers: never }), ...more }));
  const openOnDisk = () => {
    const disk = { isFull: false };
    const { db } = openDatabase(file);
    const onDisk: SqliteDatabase = {
      get isTransaction() {
        return db.isTransaction;
      },
      exec: (sql) => db.exec(sql),
      close: () => db.close(),
      prepare: (sql) => (sql === "commit" ? failWhileFull(db.prepare(sql), disk) : db.prepare(sql)),
    };
    return { disk, store: closing(sqliteStore(onDisk, file, ports)) };
  };
  return { file, clock, timers, open, openOnDisk, workersFolder: `${file}-workers` };
}

function failWhileFull(statement: SqliteStatement, disk: { readonly isFull: boolean }): SqliteStatement {
  const run = (): ReturnType<SqliteStatement["run"]> => {
    if (disk.isFull) throw Object.assign(new Error("database or disk is full"), { errcode: 13 });
    return statement.run();
  };
  return { run, get: () => undefined, all: () => [], setReturnArrays: () => {} };
}

function hasFault(code: string, message: RegExp) {
  return (error: unknown): boolean =>
    error instanceof FaultError && error.fault.code === code && message.test(error.message);
}

describe("worker of a SQLite file", () => {
  it("is refused on NFS before it writes anything; commands still land", async () => {
    const { open, workersFolder } = setUp();
    const store = open("running", { fileSystemType: () => 0x6969 });
    await assert.rejects(store.registerWorker(workerA), hasFault("STORE_UNUSABLE", /is on NFS.*use Postgres/));
    assert.equal(existsSync(workersFolder), false);
    await assertLands(store, {});
  });

  it("is refused if a file has the name of the folder of lock files", async () => {
    const { open, workersFolder } = setUp();
    const store = open();
    writeFileSync(workersFolder, "");
    await assert.rejects(store.registerWorker(workerA), hasFault("STORE_UNUSABLE", /a file where a folder is needed/));
  });

  it("is refused with STORE_FULL on a full disk, leaves nothing, and is registered when there is space", async () => {
    const { openOnDisk, workersFolder } = setUp();
    const { store, disk } = openOnDisk();
    disk.isFull = true;
    await assert.rejects(store.registerWorker(workerA), hasFault("STORE_FULL", /the disk is full; free some space/));
    assert.deepEqual(readdirSync(workersFolder), []);
    disk.isFull = false;
    await store.registerWorker(workerA);
    assert.deepEqual(readdirSync(workersFolder), ["ana.lock"]);
  });

  it("keeps its runs while no worker can write, however long the disk is full", async () => {
    const { open, openOnDisk, timers } = setUp();
    const { store: observer, disk } = openOnDisk();
    const worker = open("stopped");
    await worker.registerWorker(workerA);
    const claim = await claimRun(worker, workerA);
    await observer.registerWorker(workerB);
    disk.isFull = true;
    await timers.pass(stallMs * 2);
    disk.isFull = false;
    await timers.pass(1000);
    assert.deepEqual(await worker.renew(workerA, [claim]), []);
  });

  it("keeps its runs if an observer got the lock of a file that was deleted meanwhile", async () => {
    const { open, timers, workersFolder } = setUp();
    const worker = open("stopped");
    await worker.registerWorker(workerA);
    const claim = await claimRun(worker, workerA);
    let renewed: Promise<unknown> | null = null;
    const observer = open("running", {
      failpoint: (point) => {
        if (point === "evict.before") renewed = worker.renew(workerA, [claim]);
      },
    });
    const lock = join(workersFolder, "ana.lock");
    rmSync(lock);
    writeFileSync(lock, "");
    await observer.registerWorker(workerB);
    assert.deepEqual(await renewed, []);
    assert.deepEqual(await worker.renew(workerA, [claim]), []);
    assert.equal(existsSync(lock), true);
    await timers.pass(1);
  });
});

describe("copy of a SQLite store with its lock files", () => {
  it("has dead workers, which are evicted at once; the workers of the original keep their runs", async () => {
    const { file, open, workersFolder } = setUp();
    const original = open();
    await original.registerWorker(workerA);
    const claim = await claimRun(original, workerA);
    const copy = join(folder, `copy-${files++}.db`);
    // Another process copies: this one would lose its lock if it opened the lock file.
    for (const [from, to] of [
      [file, copy],
      [`${file}-wal`, `${copy}-wal`],
      [workersFolder, `${copy}-workers`],
    ] as const)
      assert.equal(spawnSync("cp", ["-r", from, to]).status, 0);
    const copied = open("running", {}, copy);
    await copied.registerWorker(workerB);
    const taken = await claimRun(copied, workerB);
    assert.equal(await copied.predecessor(taken), workerA);
    assert.deepEqual(readdirSync(`${copy}-workers`), ["bob.lock"]);
    assert.equal(LockFile.take(join(workersFolder, "ana.lock")), "held");
    assert.equal(await original.claim(workerB, tenantA, runA), null);
    assert.deepEqual(await original.renew(workerA, [claim]), []);
  });
});
