import assert from "node:assert/strict";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it, onTestFinished } from "vitest";
import type { Timers } from "../../../src/core/ports/clock.ts";
import type { Store } from "../../../src/core/store/store.ts";
import { FaultError } from "../../../src/core/values/fault.ts";
import type { Digest, RunId, WorkerId } from "../../../src/core/values/ids.ts";
import { LockFile } from "../../../src/store/sqlite/lock-file.ts";
import { openDatabase } from "../../../src/store/sqlite/open-database.ts";
import { connectSqlite } from "../../../src/store/sqlite/sqlite-driver.ts";
import { openSqlite, sqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { hasWorker } from "../../../src/store/sqlite/worker-locks.ts";
import { assertLocalDisk } from "../../../src/store/sqlite/worker-registry.ts";
import { fakeClock } from "../../../src/testing/fake-clock.ts";
import { manualTimers } from "../../../src/testing/manual-timers.ts";
import {
  appendEntry,
  assertLands,
  claimRun,
  runA,
  runB,
  stepA,
  tenantA,
  workerA,
  workerB,
} from "../../../src/testing/store-contract/contract-rule.ts";

import { setQueuedTimers } from "../../../src/testing/store-contract/timer-fixtures.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-workers-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

const stallMs = 60_000;
const rules = "r".repeat(64) as Digest;
const never: Timers = { after: () => () => {} };

/** A file, a clock, and processes that use it. Each process has a store; a stopped one has no timers. */
function setUp() {
  const file = join(folder, `${files++}.db`);
  const clock = fakeClock();
  const timers = manualTimers(clock);
  const open = (as: "running" | "stopped" = "running", path = file): Store => {
    const used = as === "running" ? timers : never;
    const store = openSqlite(path, { clock, timers: used, stopwatch: () => clock.now(), stallMs, dice: () => 0.5 });
    onTestFinished(() => store.close());
    return store;
  };
  const startWorker = async (worker: WorkerId, as: "running" | "stopped" = "running"): Promise<Store> => {
    const store = open(as);
    await store.registerWorker(worker, { rules });
    return store;
  };
  const lockPath = (worker: string): string => join(`${file}-workers`, `${worker}.lock`);
  const run = (sql: string) => {
    const db = connectSqlite(file);
    const rows = db.prepare(sql).all() as readonly Record<string, unknown>[];
    db.close();
    return rows;
  };
  /** Leaves what a worker leaves that dies with a run: a lock file, a row and a lease. */
  const leaveDead = async (worker: WorkerId, boot?: string): Promise<void> => {
    const store = open("stopped");
    await claimRun(store, worker);
    mkdirSync(`${file}-workers`, { recursive: true });
    closeSync(openSync(lockPath(worker), "w"));
    const values = `'${worker}', '${boot ?? store.boot}', 1, '0', '${rules}', 7`;
    run(`insert into worker (id, boot, pid, version, rules, beat) values (${values})`);
  };
  const workers = () => run("select id from worker order by id").map(({ id }) => id);
  const claiming = () => run("select id from worker where rules is not null order by id").map(({ id }) => id);
  return { file, clock, timers, open, startWorker, lockPath, leaveDead, workers, claiming, run };
}

describe("workers of a SQLite file", () => {
  it("work beside each other, whatever path the file is opened by, and each keeps its runs", async () => {
    const { file, open, startWorker, timers, workers } = setUp();
    const link = join(folder, `link-${files}.db`);
    const first = await startWorker(workerA);
    symlinkSync(file, link);
    const second = open("running", link);
    await second.registerWorker(workerB);
    const [one, two] = [await claimRun(first, workerA), await claimRun(second, workerB, runB)];
    await timers.pass(stallMs * 5);
    assert.deepEqual([await first.renew(one.worker, [one]), await second.renew(two.worker, [two])], [[], []]);
    assert.equal(await second.claim(workerB, tenantA, runA), null);
    assert.deepEqual(workers(), [workerA, workerB]);
  });

  it("stay registered when the wall clock jumps by an hour, in either direction", async () => {
    const { file, clock, startWorker, workers } = setUp();
    let jump = 0;
    const timers = manualTimers(clock);
    const jumping = openSqlite(file, {
      clock: { now: () => (clock.now() + jump) as never },
      timers,
      stopwatch: () => clock.now(),
      stallMs,
    });
    onTestFinished(() => jumping.close());
    await jumping.registerWorker(workerB);
    const store = await startWorker(workerA, "stopped");
    const claim = await claimRun(store, workerA);
    for (const ms of [3_600_000, -3_600_000]) {
      jump = ms;
      await timers.pass(stallMs / 3);
    }
    assert.deepEqual(await store.renew(claim.worker, [claim]), []);
    assert.deepEqual(workers(), [workerA, workerB]);
  });

  it("end their leases and remove their row and their file when they close", async () => {
    const { file, startWorker, lockPath, workers } = setUp();
    const store = await startWorker(workerA);
    const late = await claimRun(store, workerA);
    assert.equal(hasWorker(file), true);
    await store.close();
    assert.equal(hasWorker(file), false);
    assert.deepEqual([workers(), existsSync(lockPath(workerA))], [[], false]);
    const next = await startWorker(workerB);
    const claim = await claimRun(next, workerB);
    assert.ok(claim.epoch > late.epoch);
    assert.equal(await next.predecessor(claim), workerA);
  });

  it("renew all their leases with one write", async () => {
    const { db, file } = openDatabase(join(folder, `${files++}.db`));
    const store = sqliteStore(db, file, { timers: never });
    onTestFinished(() => store.close());
    await store.registerWorker(workerA);
    const claims = [];
    for (let nth = 0; nth < 100; nth += 1) claims.push(await claimRun(store, workerA, `run-${nth}` as RunId));
    const changes = () => Number(Object.values(db.prepare("select total_changes()").get() as object)[0]);
    const before = changes();
    assert.deepEqual(await store.renew(workerA, claims), []);
    assert.equal(changes() - before, 1);
  });

  it("lose a lease that they do not renew for leaseMs, and keep the others", async () => {
    const { startWorker, timers } = setUp();
    const store = await startWorker(workerA);
    const [kept, failed] = [await claimRun(store, workerA), await claimRun(store, workerA, runB)];
    for (let passed = 0; passed < store.leaseMs; passed += 5000) {
      assert.deepEqual(await store.renew(workerA, [kept]), []);
      assert.equal(await store.claim(workerB, tenantA, runB), null);
      await timers.pass(5000);
    }
    assert.deepEqual(await store.renew(workerA, [kept]), []);
    const claim = await claimRun(store, workerB, runB);
    assert.deepEqual([claim.epoch, await store.predecessor(claim)], [failed.epoch + 2, workerA]);
  });

  it("leave due runs to a live worker that has their rules, until it retires", async () => {
    const { startWorker, clock } = setUp();
    const [first, second] = [await startWorker(workerA), await startWorker(workerB)];
    const [ours, theirs] = ["ours" as Digest, "theirs" as Digest];
    await setQueuedTimers(first, clock, { [runA]: { rules: ours }, [runB]: {} });
    assert.deepEqual(await first.claimDue(workerA, 0, { rules: ours }), []);
    assert.deepEqual(
      (await second.claimDue(workerB, 9, { rules: theirs })).map(({ run }) => run),
      [runB],
    );
    await first.retireWorker(workerA);
    assert.deepEqual(
      (await second.claimDue(workerB, 9, { rules: theirs })).map(({ run }) => run),
      [runA],
    );
  });

  it("refuse a second worker with the id of a live one", async () => {
    const { open, startWorker } = setUp();
    await startWorker(workerA);
    await assert.rejects(open().registerWorker(workerA), hasCode("STORE_BUSY"));
  });
});

describe("dead worker of a SQLite file", () => {
  it("is evicted when another registers: its run can be claimed, and nothing of it is left", async () => {
    const { leaveDead, startWorker, lockPath, workers } = setUp();
    await leaveDead(workerA);
    const next = await startWorker(workerB);
    const claim = await claimRun(next, workerB);
    assert.deepEqual([claim.epoch, await next.predecessor(claim)], [3, workerA]);
    assert.deepEqual([workers(), existsSync(lockPath(workerA))], [[workerB], false]);
  });

  it("is evicted by a worker that was there before, at its next look", async () => {
    const { leaveDead, startWorker, timers } = setUp();
    const store = await startWorker(workerB);
    await leaveDead(workerA);
    assert.equal(await store.claim(workerB, tenantA, runA), null);
    await timers.pass(250);
    await claimRun(store, workerB);
  });

  it("is evicted although it died under an earlier boot", async () => {
    const { leaveDead, startWorker } = setUp();
    await leaveDead(workerA, "the boot before");
    await claimRun(await startWorker(workerB), workerB);
  });

  it("is evicted at once although a power cut has lost its lock file", async () => {
    const { leaveDead, startWorker, lockPath, workers } = setUp();
    await leaveDead(workerA, "the boot before");
    rmSync(lockPath(workerA));
    await claimRun(await startWorker(workerB), workerB);
    assert.deepEqual(workers(), [workerB]);
  });

  it("leaves no file behind if it died before it had a row", async () => {
    const { file, startWorker, lockPath } = setUp();
    mkdirSync(`${file}-workers`);
    for (const name of ["lost", ".lost"]) closeSync(openSync(lockPath(name), "w"));
    const starting = LockFile.create(lockPath("starting"));
    onTestFinished(() => starting.free());
    await startWorker(workerA);
    assert.deepEqual(readdirSync(`${file}-workers`).sort(), ["ana.lock", "starting.lock"]);
  });
});

describe("stalled worker of a SQLite file", () => {
  it("loses its runs after stallMs, writes nothing more, and comes back under a greater epoch", async () => {
    const { startWorker, timers, lockPath, claiming } = setUp();
    const stalled = await startWorker(workerA, "stopped");
    const late = await claimRun(stalled, workerA);
    await assertLands(stalled, { epoch: late.epoch });
    const observer = await startWorker(workerB);
    await timers.pass(stallMs - 250);
    assert.equal(await observer.claim(workerB, tenantA, runA), null);
    await timers.pass(500);
    assert.deepEqual([claiming(), existsSync(lockPath(workerA))], [[workerB], true]);
    assert.deepEqual(await appendEntry(stalled, { at: 1, epoch: late.epoch }), { landed: false, why: "epoch" });
    assert.equal(await stalled.mark(late, stepA, 1), false);
    assert.deepEqual(await stalled.renew(late.worker, [late]), [late]);
    assert.deepEqual(claiming(), [workerA, workerB]);
    const again = await claimRun(stalled, workerA);
    assert.ok(again.epoch > late.epoch);
  });

  it("that moves again is not evicted a second time, although its beat begins anew", async () => {
    const { startWorker, timers, claiming } = setUp();
    const stalled = await startWorker(workerA, "stopped");
    await startWorker(workerB);
    await timers.pass(stallMs - 250);
    for (let look = 0; claiming().length === 2 && look < 4; look += 1) await timers.pass(250);
    assert.deepEqual(claiming(), [workerB]);
    for (let beat = 0; beat < 2; beat += 1) await stalled.renew(workerA, []);
    await timers.pass(250);
    assert.deepEqual(claiming(), [workerA, workerB]);
  });

  it("is listed without rules until its process is dead, because a call that it has begun may still happen", async () => {
    const { startWorker, timers, workers, run } = setUp();
    const stalled = await startWorker(workerA, "stopped");
    await claimRun(stalled, workerA);
    const observer = await startWorker(workerB);
    await timers.pass(stallMs * 3);
    const listed = await observer.workers();
    assert.deepEqual(
      listed.map(({ worker, rules: found }) => [worker, found]),
      [
        [workerA, null],
        [workerB, rules],
      ],
    );
    const beats = run("select beat from worker order by id");
    await timers.pass(stallMs / 20);
    assert.deepEqual(run("select beat from worker order by id")[0], beats[0]);
    await stalled.close();
    await timers.pass(1000);
    assert.deepEqual(workers(), [workerB]);
  });

  it("is removed if its lock file was deleted and its process does not exist", async () => {
    const { startWorker, timers, lockPath, leaveDead, workers, run } = setUp();
    await leaveDead(workerA);
    rmSync(lockPath(workerA));
    await startWorker(workerB);
    await timers.pass(stallMs + 500);
    assert.deepEqual(workers(), [workerA, workerB]); // The first process exists.
    run("update worker set pid = 4194305 where id <> 'b' and pid = 1 returning id");
    await timers.pass(stallMs + 500);
    assert.deepEqual(workers(), [workerB]);
  });

  it("keeps its runs while its beat changes", async () => {
    const { startWorker, timers } = setUp();
    const slow = await startWorker(workerA, "stopped");
    const claim = await claimRun(slow, workerA);
    await startWorker(workerB);
    for (let nth = 0; nth < 5; nth += 1) {
      await timers.pass(stallMs - 1000);
      assert.deepEqual(await slow.renew(claim.worker, [claim]), []);
    }
  });

  it("keeps its runs if the observer itself stood still: the count starts again", async () => {
    const { startWorker, timers, clock } = setUp();
    const stalled = await startWorker(workerA, "stopped");
    const claim = await claimRun(stalled, workerA);
    await startWorker(workerB);
    await timers.pass(stallMs - 1000);
    clock.advance(3_600_000);
    await timers.pass(stallMs - 1000);
    assert.deepEqual(await stalled.renew(claim.worker, [claim]), []);
  });

  it("is not dead if its lock file is missing under the same boot", async () => {
    const { startWorker, timers, lockPath } = setUp();
    const stalled = await startWorker(workerA, "stopped");
    await claimRun(stalled, workerA);
    rmSync(lockPath(workerA));
    const observer = await startWorker(workerB);
    await timers.pass(stallMs - 250);
    assert.equal(await observer.claim(workerB, tenantA, runA), null);
    await timers.pass(500);
    await claimRun(observer, workerB);
  });

  it("is noticed although its lease is from a copied file and it has no row", async () => {
    const { open, startWorker, timers } = setUp();
    await claimRun(open("stopped"), workerA);
    const observer = await startWorker(workerB);
    await timers.pass(stallMs + 250);
    await claimRun(observer, workerB);
  });
});

describe("lock file of a worker", () => {
  it("is created again if it is deleted, so that the death of the worker is noticed at once", async () => {
    const { file, startWorker, timers, lockPath } = setUp();
    await startWorker(workerA);
    rmSync(lockPath(workerA));
    await timers.pass(250);
    assert.equal(LockFile.take(lockPath(workerA)), "held");
    assert.deepEqual(readdirSync(`${file}-workers`), ["ana.lock"]);
  });

  it.each([
    ["has written to it", (path: string): unknown => writeFileSync(path, "Dear diary, ".repeat(100))],
    ["holds a lock on it", (path: string): unknown => LockFile.take(path)],
  ])("counts as held if another program %s: the worker is then stalled, not dead", async (_, disturb) => {
    const { startWorker, timers, lockPath, leaveDead, claiming } = setUp();
    await leaveDead(workerA);
    const lock = disturb(lockPath(workerA));
    onTestFinished(() => (lock instanceof LockFile ? lock.free() : undefined));
    await startWorker(workerB);
    await timers.pass(stallMs - 250);
    assert.deepEqual(claiming(), [workerA, workerB]);
    await timers.pass(500);
    assert.deepEqual(claiming(), [workerB]);
  });
});

describe("worker on another machine", () => {
  it("keeps others from working with STORE_ELSEWHERE while its lock is held", async () => {
    const { startWorker, open, run } = setUp();
    await startWorker(workerA, "stopped");
    run("update worker set boot = 'another' returning id");
    const { code, message } = await faultOf(open().registerWorker(workerB));
    assert.equal(code, "STORE_ELSEWHERE");
    assert.match(message, /another machine; stop it, or use Postgres/);
  });

  it.each([
    [0x6969, /is on NFS/],
    [0xfe534d42, /is on SMB/],
    [0x01021997, /is on 9p/],
  ] as const)("is not possible on a file system of type %s", (type, text) => {
    assert.throws(() => assertLocalDisk("writ.db", type), text);
  });

  it("is possible on a local disk", () => assertLocalDisk("writ.db", 0xef53));
});

async function faultOf(work: Promise<unknown>) {
  const error = await work.catch((thrown: unknown) => thrown);
  if (error instanceof FaultError) return error.fault;
  throw error;
}

function hasCode(code: string) {
  return (error: unknown): boolean => error instanceof FaultError && error.fault.code === code;
}
