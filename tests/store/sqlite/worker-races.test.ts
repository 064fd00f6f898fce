import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it, onTestFinished } from "vitest";
import type { Timers } from "../../../src/core/ports/clock.ts";
import type { Store } from "../../../src/core/store/store.ts";
import { FaultError } from "../../../src/core/values/fault.ts";
import { LockFile } from "../../../src/store/sqlite/lock-file.ts";
import { openDatabase } from "../../../src/store/sqlite/open-database.ts";
import { retryOpening } from "../../../src/store/sqlite/retry-opening.ts";
import { connectSqlite } from "../../../src/store/sqlite/sqlite-driver.ts";
import { openSqlite, type SqliteInternals, sqlite } from "../../../src/store/sqlite/sqlite-store.ts";
import { sqliteWaitTimes } from "../../../src/store/sqlite/sqlite-wait-times.ts";
import { shareVersionLock, takeVersionLock } from "../../../src/store/sqlite/version-lock.ts";
import type { WorkerFailpoint } from "../../../src/store/sqlite/worker-failpoints.ts";
import { fakeClock } from "../../../src/testing/fake-clock.ts";
import { manualTimers } from "../../../src/testing/manual-timers.ts";
import { claimRun, runA, runB, tenantA, workerA, workerB } from "../../../src/testing/store-contract/contract-rule.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-races-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

const stallMs = 60_000;

/** A new file that several processes use. Each test lets one process act at an exact point of another. */
function setUp() {
  const file = join(folder, `${files++}.db`);
  const clock = fakeClock();
  const timers = manualTimers(clock);
  const open = (more: SqliteInternals & { readonly timers?: Timers } = {}): Store => {
    const store = openSqlite(file, { clock, timers, stopwatch: () => clock.now(), stallMs, dice: () => 0.5, ...more });
    onTestFinished(() => store.close());
    return store;
  };
  const locks = `${file}-workers`;
  return { file, clock, timers, open, locks, lockA: join(locks, "ana.lock") };
}

/** Returns a listener that acts when a point is passed for the first time. */
function once(at: WorkerFailpoint, act: () => void): (point: WorkerFailpoint) => void {
  let acted = false;
  return (point) => {
    if (point !== at || acted) return;
    acted = true;
    act();
  };
}

/** Timers that fire nothing by themselves. `look` fires the look of a worker at the others. */
function timersOfLooks() {
  let look = (): void => assert.fail("no look is planned");
  const timers: Timers = {
    after: (ms, work) => {
      if (ms === sqliteWaitTimes.lookMs) look = work;
      return () => {};
    },
  };
  return { timers, look: () => look() };
}

/** The new file of a lock that has no name yet. */
function hiddenFile(locks: string): string {
  const [name] = readdirSync(locks).filter((found) => found.startsWith("."));
  assert.ok(name !== undefined);
  return join(locks, name);
}

describe("worker that registers", () => {
  it("gets its lock although another process removes its new file before it is locked", async () => {
    const { open, locks, lockA } = setUp();
    const store = open({ failpoint: once("lock.before", () => rmSync(hiddenFile(locks))) });
    await store.registerWorker(workerA);
    assert.equal(LockFile.take(lockA), "held");
    assert.deepEqual(readdirSync(locks), ["ana.lock"]);
  });

  it("gets its lock although another process holds its new file as a leftover for a long time", async () => {
    const { open, locks, lockA } = setUp();
    let taken: unknown = null;
    const store = open({
      failpoint: once("lock.before", () => {
        taken = LockFile.take(hiddenFile(locks));
      }),
    });
    await store.registerWorker(workerA);
    assert.equal(LockFile.take(lockA), "held");
    assert.ok(taken instanceof LockFile);
    taken.remove();
    assert.deepEqual(readdirSync(locks), ["ana.lock"]);
  });

  it("is registered although its first look at the others fails, and looks again", async () => {
    const { open, timers } = setUp();
    const other = open({ timers: timersOfLooks().timers });
    await other.registerWorker(workerB);
    let looks = 0;
    const store = open({
      failpoint: (point) => {
        if (point === "look.before" && looks++ === 0) throw new Error("the disk failed");
      },
    });
    await store.registerWorker(workerA);
    await claimRun(store, workerA);
    await timers.pass(sqliteWaitTimes.lookMs);
    assert.equal(looks, 2);
  });
});

describe("running worker", () => {
  it("keeps its runs if its lock file is deleted and created again while an observer opens it", async () => {
    const { open, lockA } = setUp();
    const { timers, look } = timersOfLooks();
    const worker = open({ timers });
    await worker.registerWorker(workerA);
    const claim = await claimRun(worker, workerA);
    const observer = open({
      failpoint: once("look.before", () => {
        rmSync(lockA);
        look();
      }),
    });
    await observer.registerWorker(workerB);
    assert.equal(await observer.claim(workerB, tenantA, runA), null);
    assert.deepEqual(await worker.renew(workerA, [claim]), []);
    assert.equal(LockFile.take(lockA), "held");
  });

  it("keeps its runs if its lock file is deleted while an observer opens it, and is missing after", async () => {
    const { open, lockA } = setUp();
    const { timers, look } = timersOfLooks();
    const worker = open({ timers });
    await worker.registerWorker(workerA);
    const claim = await claimRun(worker, workerA);
    const observer = open({
      failpoint: once("look.before", () => {
        rmSync(lockA);
        look();
        rmSync(lockA);
      }),
    });
    await observer.registerWorker(workerB);
    assert.deepEqual(await worker.renew(workerA, [claim]), []);
    assert.equal(existsSync(lockA), false);
  });

  it("locks a new file if its lock file was replaced or the whole folder was deleted", async () => {
    const { open, timers, locks, lockA } = setUp();
    const worker = open();
    await worker.registerWorker(workerA);
    const damages = [
      () => rmSync(locks, { recursive: true }),
      () => {
        rmSync(lockA);
        writeFileSync(lockA, "");
      },
    ];
    for (const damage of damages) {
      damage();
      await timers.pass(sqliteWaitTimes.lookMs);
      assert.equal(LockFile.take(lockA), "held");
      assert.deepEqual(readdirSync(locks), ["ana.lock"]);
    }
  });

  it("keeps the run that it claims after it stood still, although an observer has just found it stalled", async () => {
    const { file, open, timers } = setUp();
    const stopped = open({ timers: timersOfLooks().timers });
    await stopped.registerWorker(workerA, { rules: "r".repeat(64) as never });
    const observer = open();
    await observer.registerWorker(workerB);
    const late = await claimRun(stopped, workerA);
    // Moves the moment of the stall away from the beats of the observer.
    await timers.pass(1000);
    await stopped.renew(workerA, [late]);
    await timers.pass(stallMs);
    const writer = connectSqlite(file);
    writer.exec("begin immediate");
    await timers.pass(sqliteWaitTimes.lookMs);
    writer.exec("rollback");
    writer.close();
    const claim = await claimRun(stopped, workerA, runB);
    await timers.pass(sqliteWaitTimes.lookMs);
    assert.deepEqual(await stopped.renew(workerA, [claim]), []);
  });
});

describe("opening a SQLite file", () => {
  const alone = () => new FaultError({ code: "STORE_BUSY", message: "busy", detail: { held: "alone" } } as never);
  const used = () => new FaultError({ code: "STORE_BUSY", message: "busy", detail: { processes: [] } } as never);
  const locked = () => new FaultError({ code: "STORE_FAILED", message: "busy", detail: { sqlite: 5 } } as never);

  /** Returns how long opening waits while it meets this fault. */
  const waitedMs = async (error: () => FaultError): Promise<number> => {
    let now = 0;
    const timers: Timers = {
      after: (_, work) => {
        now += 10;
        setImmediate(work);
        return () => {};
      },
    };
    const failing = (): never => {
      throw error();
    };
    await assert.rejects(retryOpening(failing, timers, () => now));
    return now;
  };

  it("waits long for a process that creates or migrates it, and briefly for processes that use it", async () => {
    const { openingMs, otherVersionMs } = sqliteWaitTimes;
    assert.ok(openingMs >= 10_000 && otherVersionMs <= 2000);
    const waits = [await waitedMs(alone), await waitedMs(locked), await waitedMs(used)];
    assert.deepEqual(waits, [openingMs + 10, openingMs + 10, otherVersionMs + 10]);
  });

  it("says whether another process holds it alone, and succeeds when that process ends", async () => {
    const { file } = setUp();
    openDatabase(file).db.close();
    const migration = takeVersionLock(file);
    assert.ok(migration !== null);
    assert.throws(
      () => openSqlite(file),
      (error) => error instanceof FaultError && /held alone by another process/.test(error.message),
    );
    const opening = sqlite(file);
    migration.free();
    await (await opening).close();
  });

  it("says which schema is in use if processes of another version share it", () => {
    const { file } = setUp();
    const { db } = openDatabase(file);
    db.exec("delete from migration where number = (select max(number) from migration)");
    db.close();
    const older = shareVersionLock(file);
    onTestFinished(() => older?.free());
    assert.throws(
      () => openSqlite(file),
      (error) => error instanceof FaultError && /has another schema version/.test(error.message),
    );
  });
});
