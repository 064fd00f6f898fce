import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Timers } from "../../../src/core/ports/clock.ts";
import { FaultError } from "../../../src/core/values/fault.ts";
import { openDatabase } from "../../../src/store/sqlite/open-database.ts";
import { assertSqliteVersion, chooseDriver, connectSqlite } from "../../../src/store/sqlite/sqlite-driver.ts";
import { sqliteMigrations } from "../../../src/store/sqlite/sqlite-migrations.ts";
import { openSqlite, sqlite, sqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { fakeClock } from "../../../src/testing/fake-clock.ts";
import {
  appendEntry,
  assertLands,
  buildEntry,
  buildEvent,
  claimRun,
  fakeHash,
  runA,
  runB,
  tenantA,
  workerA,
} from "../../../src/testing/store-contract/contract-rule.ts";
import { repositoryPath } from "../../repo/repository-path.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-file-"));
let files = 0;
const newFile = (): string => join(folder, `${files++}.db`);

afterAll(() => rmSync(folder, { recursive: true }));

/** Some drivers remove the write-ahead log on close, others leave an empty one. */
describe("opening a SQLite file", () => {
  it("makes it and its side files readable by its owner only", async () => {
    const file = newFile();
    const store = openSqlite(file);
    await store.registerWorker(workerA);
    await assertLands(store, { flush: "hard" });
    const modes = ["", "-wal", "-shm", "-worker", "-workers/ana.lock", "-workers"].map(
      (suffix) => statSync(file + suffix).mode & 0o777,
    );
    assert.deepEqual(modes, [0o600, 0o600, 0o600, 0o600, 0o600, 0o700]);
    await store.close();
  });

  it("finds earlier entries", async () => {
    const file = newFile();
    const first = openSqlite(file);
    await assertLands(first, { flush: "soft" });
    await first.close();
    const second = openSqlite(file);
    assert.equal((await second.head(tenantA, runA))?.position, 1);
    await second.close();
  });

  it("refuses a newer schema and names both versions", () => {
    const file = newFile();
    const { db } = openDatabase(file);
    db.exec("insert into migration (number, name) values (99, 'later')");
    db.close();
    const { code, message } = faultOf(() => openSqlite(file));
    assert.equal(code, "STORE_NEWER");
    assert.match(message, new RegExp(`version 99 .* knows ${sqliteMigrations.length}`));
  });

  it("refuses a file that is no database", () => {
    const file = newFile();
    writeFileSync(file, "Dear diary, ".repeat(100));
    assert.equal(faultOf(() => openSqlite(file)).code, "STORE_UNUSABLE");
    assert.match(readFileSync(file, "utf8"), /^Dear diary/);
  });

  it.each([
    ["trigger quiet on event", "create trigger quiet after insert on event begin delete from head; end"],
    ["trigger run on event", "create trigger run after insert on event begin delete from head; end"],
    ["view everything", "create view everything as select * from event"],
    ["table notes", "create table notes (text)"],
    ["index fast on event", "create unique index fast on event (at)"],
  ])("refuses a file with the foreign %s and names it", (name, sql) => {
    const file = newFile();
    const { db } = openDatabase(file);
    db.exec(sql);
    db.close();
    for (const create of [true, false]) {
      const { code, message } = faultOf(() => openSqlite(file, { create }));
      assert.equal(code, "STORE_UNUSABLE");
      assert.ok(message.includes(`contains the ${name}, which Writ did not create`), message);
    }
  });

  it("opens a file with the tables of SQLite and of Litestream", async () => {
    const file = newFile();
    const { db } = openDatabase(file);
    db.exec("analyze; create table _litestream_seq (id integer primary key, seq integer)");
    db.close();
    await openSqlite(file).close();
  });

  it("makes no file for a store in memory", async () => {
    const before = readdirSync(".");
    const store = openSqlite(":memory:");
    await store.registerWorker(workerA);
    await assertLands(store, { flush: "hard" });
    await store.close();
    assert.deepEqual(readdirSync("."), before);
  });

  it("refuses a foreign database and leaves it unchanged", () => {
    const file = newFile();
    const db = connectSqlite(file);
    db.exec("create table migration (id)");
    db.close();
    assert.match(faultOf(() => openSqlite(file)).message, /not of Writ/);
    const again = connectSqlite(file);
    assert.equal(again.prepare("select name from sqlite_schema").all().length, 1);
    again.close();
  });

  it.each(["table ledger", "table migration", "index lease_worker"])("refuses a file without the %s", (lost) => {
    const file = newFile();
    const { db } = openDatabase(file);
    db.exec(`drop ${lost}`);
    db.close();
    const { code, message } = faultOf(() => openSqlite(file));
    assert.equal(code, "STORE_UNUSABLE");
    assert.match(message.replace("table:", "table"), new RegExp(`tables differ from those of Writ.* no such ${lost}`));
  });

  it.each([
    ["a directory that is not there", () => join(folder, "none", "writ.db"), "STORE_UNUSABLE"],
    ["a directory that is a file", () => join(touch(newFile()), "writ.db"), "STORE_UNUSABLE"],
    ["a path that is a directory", () => folder, "STORE_UNUSABLE"],
  ] as const)("refuses %s and says what to do", (_, path, code) => {
    const fault = faultOf(() => openSqlite(path()));
    assert.equal(fault.code, code);
    assert.match(fault.message, /create|give|check/);
  });

  it.each(["3.51.2", "3.50.9", "2.99.99"])("refuses SQLite %s and names the required version", (version) => {
    const { code, message } = faultOf(() => assertSqliteVersion(version));
    assert.equal(code, "STORE_UNUSABLE");
    assert.ok(message.includes(version) && message.includes("3.51.3"));
  });

  it.each([
    ["20.19.0", undefined, "addon"],
    ["22.23.3", "3.51.3", "addon"],
    ["24.0.0", "3.49.1", "addon"],
    ["24.21.0", "3.53.4", "builtin"],
    ["26.0.0", "3.54.0", "builtin"],
  ] as const)("uses on Node %s with SQLite %s the driver %s", (node, builtinSqlite, expected) => {
    const drivers = { node, builtinSqlite, builtin: () => "builtin", addon: () => "addon" };
    assert.equal(chooseDriver(drivers), expected);
    assert.equal(chooseDriver({ ...drivers, builtin: () => null }), "addon");
    assert.equal(chooseDriver({ ...drivers, addon: () => null }), "builtin");
    const { code, message } = faultOf(() => chooseDriver({ ...drivers, addon: () => null, builtin: () => null }));
    assert.equal(code, "STORE_UNUSABLE");
    assert.match(message, /use Node 24 or later, or run: npm install @photostructure\/sqlite$/);
  });

  it.each(["3.51.3", "3.53.0", "4.0.0"])("accepts SQLite %s", (version) => assertSqliteVersion(version));

  it("creates the schema of schema.sql", async () => {
    const { db } = openDatabase(newFile());
    const rows = db
      .prepare("select sql from sqlite_schema where sql is not null order by tbl_name, type desc, name")
      .all();
    const dump = rows.map((row) => `${(row as { readonly sql: string }).sql};\n`).join("\n");
    db.close();
    await expect(dump).toMatchFileSnapshot(repositoryPath("src/store/sqlite/schema.sql"));
  });
});

describe("group commit", () => {
  it("commits the calls of one turn in one transaction", async () => {
    const { db, file } = openDatabase(newFile());
    const store = sqliteStore(db, file);
    const other = connectSqlite(file);
    const version = () =>
      (other.prepare("pragma data_version").get() as { readonly data_version: number }).data_version;
    const seen = version();
    const runs = Array.from({ length: 20 }, (_, index) => appendEntry(store, { run: `run-${index}` as never }));
    await Promise.all([
      ...runs,
      store.claim(workerA, tenantA, runA),
      store.putBlob(tenantA, "ab" as never, new Uint8Array(3)),
    ]);
    assert.equal(version(), seen + 1);
    other.close();
    await store.close();
  });

  it("syncs for a hard entry and not for soft entries, claims and markers", async () => {
    const { db, file } = openDatabase(newFile());
    const store = sqliteStore(db, file);
    const synchronous = () => (db.prepare("pragma synchronous").get() as { readonly synchronous: number }).synchronous;
    const [normal, full] = [1, 2];
    await assertLands(store, { flush: "soft" });
    assert.equal(synchronous(), normal);
    await Promise.all([appendEntry(store, { at: 1, flush: "soft" }), appendEntry(store, { run: runB, flush: "hard" })]);
    assert.equal(synchronous(), full);
    const claim = await claimRun(store, workerA);
    assert.equal(synchronous(), normal);
    await assertLands(store, { at: 2, flush: "hard" });
    await store.mark(claim, "send" as never, 1);
    assert.equal(synchronous(), normal);
    await store.close();
  });

  it("rejects the one call that SQLite refuses and lands the others of its turn", async () => {
    const store = openSqlite(newFile());
    const broken = { table: "timer", key: "r", was: "any", row: "not JSON" } as const;
    const turn = [
      appendEntry(store, {}),
      appendEntry(store, { run: runB, puts: [broken] }),
      appendEntry(store, { tenant: "globex" as never }),
    ];
    const [first, second, third] = await Promise.allSettled(turn);
    assert.deepEqual([first?.status, second?.status, third?.status], ["fulfilled", "rejected", "fulfilled"]);
    assert.equal(second?.status === "rejected" && second.reason.fault.code, "STORE_FAILED");
    assert.equal(await store.head(tenantA, runB), null);
    assert.equal((await store.head(tenantA, runA))?.position, 1);
    await store.close();
  });

  it("returns STORE_FULL without disk space, writes nothing and continues when there is space", async () => {
    const { db, file } = openDatabase(newFile());
    const store = sqliteStore(db, file);
    await assertLands(store, { flush: "hard" });
    const { page_count } = db.prepare("pragma page_count").get() as { readonly page_count: number };
    db.exec(`pragma max_page_count = ${page_count}`);
    const large = buildEvent(2, JSON.stringify("x".repeat(100_000)));
    const puts = [{ table: "ledger", key: "k", was: null, row: "{}" }] as const;
    const turn = [
      appendEntry(store, { at: 1, events: [large], puts }),
      appendEntry(store, { run: runB, events: [buildEvent(1)] }),
    ];
    const [full, small] = await Promise.allSettled(turn);
    assert.equal(full?.status === "rejected" && full.reason.fault.code, "STORE_FULL");
    assert.deepEqual(small, { status: "fulfilled", value: { landed: true } });
    assert.equal(await store.row(tenantA, "ledger", "k"), null);
    assert.equal((await store.head(tenantA, runA))?.position, 1);
    db.exec("pragma max_page_count = 100000");
    await assertLands(store, { at: 1, events: [large], puts });
    await store.close();
  });

  it("returns STORE_READ_ONLY when it may not write, and still reads", async () => {
    const { db, file } = openDatabase(newFile());
    const store = sqliteStore(db, file);
    await assertLands(store, {});
    db.exec("pragma query_only = on");
    await assert.rejects(appendEntry(store, { at: 1 }), hasCode("STORE_READ_ONLY"));
    assert.equal((await store.events(tenantA, runA, 0)).length, 1);
    await store.close();
  });

  it("waits by timer while another process writes, in order, and returns STORE_FAILED after five seconds", async () => {
    const { db, file } = openDatabase(newFile());
    const clock = fakeClock(0);
    const store = sqliteStore(db, file, { timers: clock, stopwatch: () => clock.now(), dice: () => 0.999 });
    const other = connectSqlite(file);
    other.exec("begin immediate");
    const waiting = [appendEntry(store, {}), appendEntry(store, { run: runB })];
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    await turn();
    clock.advance(4000);
    const later = appendEntry(store, { at: 1 });
    await turn();
    clock.advance(1100);
    for (const one of await Promise.allSettled(waiting))
      assert.match(String(one.status === "rejected" && one.reason.message), /STORE_FAILED: .*locked/);
    other.exec("rollback");
    clock.advance(20);
    assert.deepEqual(await later, { landed: false, why: "position", position: 0, hash: null });
    await assertLands(store, {});
    other.close();
    await store.close();
  });

  it("reads again by timer while another process has locked the file to recover it", async () => {
    const { db, file } = openDatabase(newFile());
    const clock = fakeClock(0);
    let locked = 3;
    const prepare = (sql: string) => {
      const real = db.prepare(sql);
      const get: typeof real.get = (...values) => {
        if (!sql.includes("from head") || locked-- <= 0) return real.get(...values);
        throw Object.assign(new Error("database is locked"), { errcode: 5 });
      };
      return {
        get,
        run: real.run.bind(real),
        all: real.all.bind(real),
        setReturnArrays: real.setReturnArrays.bind(real),
      };
    };
    const recovering = { isTransaction: false, prepare, exec: db.exec.bind(db), close: () => db.close() };
    const store = sqliteStore(recovering, file, { timers: clock, stopwatch: () => clock.now(), dice: () => 0.5 });
    const reading = store.head(tenantA, runA);
    for (let turn = 0; turn < 3; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(16);
    }
    assert.equal(await reading, null);
    locked = Number.POSITIVE_INFINITY;
    const failing = store.head(tenantA, runA);
    for (let turn = 0; turn < 700; turn += 1) {
      await Promise.resolve();
      clock.advance(16);
    }
    await assert.rejects(failing, hasCode("STORE_FAILED"));
    await store.close();
  });

  it("searches for due runs without a transaction that writes while none is due", async () => {
    const { db, file } = openDatabase(newFile());
    const clock = fakeClock();
    const store = sqliteStore(db, file, { clock, timers: clock, stopwatch: () => clock.now() });
    const puts = [{ table: "timer", key: runA, was: "any", row: JSON.stringify({ due_at: clock.now() + 1 }) }] as const;
    await assertLands(store, { puts });
    const other = connectSqlite(file);
    other.exec("begin immediate");
    assert.deepEqual(await store.claimDue(workerA, 10), []);
    other.exec("rollback");
    other.close();
    clock.advance(1);
    assert.deepEqual(
      (await store.claimDue(workerA, 10)).map(({ run }) => run),
      [runA],
    );
    await store.close();
  });

  it("commits waiting entries before it closes and takes no more", async () => {
    const file = newFile();
    const store = openSqlite(file);
    const waiting = store.append([buildEntry({})]);
    await store.close();
    await store.close();
    assert.deepEqual(await waiting, [{ landed: true }]);
    await assert.rejects(appendEntry(store, { at: 1 }), hasCode("STORE_FAILED"));
    await assert.rejects(store.head(tenantA, runA), hasCode("STORE_FAILED"));
  });
});

describe("closing a SQLite file", () => {
  it("leaves every entry in the file, so that the file alone can be copied", async () => {
    const file = newFile();
    const store = openSqlite(file);
    await assertLands(store, { flush: "hard" });
    await assertLands(store, { at: 1, flush: "soft" });
    await store.close();
    const copy = newFile();
    copyFileSync(file, copy);
    const again = openSqlite(copy);
    assert.equal((await again.head(tenantA, runA))?.position, 2);
    await again.close();
  });

  it("does not wait for other readers and writers, and leaves the log to them", async () => {
    const file = newFile();
    const store = openSqlite(file);
    await assertLands(store, {});
    const other = connectSqlite(file);
    for (const begin of ["begin; select * from head", "begin immediate"]) {
      const closing = openSqlite(file);
      other.exec(begin);
      await closing.close();
      other.exec("rollback");
    }
    other.close();
    assert.equal((await store.head(tenantA, runA))?.position, 1);
    await store.close();
  });
});

describe("two openers of a SQLite file", () => {
  it("let the second send commands and notify the first of writes", async () => {
    const file = newFile();
    const clock = fakeClock();
    const worker = openSqlite(file, { timers: clock });
    const commandLine = openSqlite(file);
    let hints = 0;
    const stop = worker.watch(() => hints++);
    clock.advance(1000);
    await assertLands(worker, {});
    clock.advance(1000);
    assert.equal(hints, 0);
    await assertLands(commandLine, { at: 1 });
    clock.advance(50);
    assert.equal(hints, 1);
    assert.equal((await worker.head(tenantA, runA))?.position, 2);
    stop();
    await assertLands(commandLine, { at: 2 });
    clock.advance(1000);
    assert.equal(hints, 1);
    await worker.close();
    await commandLine.close();
  });
});

describe("a process that waits for another to write", () => {
  it("looks every 25 ms while a caller waits, and else every 40 ms", async () => {
    const file = newFile();
    const clock = fakeClock();
    const [store, other] = [openSqlite(file, { timers: clock }), openSqlite(file)];
    for (const [isAwaited, within] of [
      [true, 25],
      [false, 40],
    ] as const) {
      let hints = 0;
      const stop = store.watch(
        () => hints++,
        () => isAwaited,
      );
      await assertLands(other, { at: isAwaited ? 0 : 1 });
      clock.advance(within - 1);
      assert.equal(hints, 0);
      clock.advance(1);
      assert.equal(hints, 1);
      stop();
    }
    await Promise.all([store.close(), other.close()]);
  });

  it("opens the file when the other has created it, and does not wait inside SQLite", async () => {
    const file = newFile();
    const other = connectSqlite(file);
    other.exec("create table creating (a); begin exclusive");
    assert.throws(() => openSqlite(file), hasCode("STORE_FAILED"));
    let attempts = 0;
    const after: Timers["after"] = (_, work) => {
      attempts += 1;
      if (attempts === 3) other.exec("rollback; drop table creating");
      const timer = setImmediate(work);
      return () => clearImmediate(timer);
    };
    const store = await sqlite(file, { timers: { after } });
    assert.equal(attempts, 3);
    other.close();
    await store.close();
  });
});

describe("erasing from a SQLite file", () => {
  it("leaves no byte of a body in the file, its log or free pages", async () => {
    const file = newFile();
    const store = openSqlite(file);
    const secrets = [`{"s":"hush-small"}`, `{"s":"${"hush-large ".repeat(2000)}"}`];
    for (let at = 0; at < 60; at++) await assertLands(store, { at, events: [buildEvent(at + 1, secrets[at % 2])] });
    assert.equal(await store.erase({ tenant: tenantA, run: runA, position: 60, keep: [], blobs: [] }, fakeHash), 60);
    assert.equal(await store.truncateLog(), "empty");
    for (const name of readdirSync(folder).filter((name) => join(folder, name).startsWith(file))) {
      assert.equal(readFileSync(join(folder, name)).includes("hush"), false, name);
    }
    await store.close();
  });

  it.each(["begin; select * from head", "begin immediate"])(
    "says that the log is pending during: %s",
    async (begin) => {
      const file = newFile();
      const store = openSqlite(file);
      await assertLands(store, {});
      const other = connectSqlite(file);
      other.exec(begin);
      assert.equal(await store.truncateLog(), "pending");
      other.exec("rollback");
      assert.equal(await store.truncateLog(), "empty");
      assert.equal(statSync(`${file}-wal`).size, 0);
      other.close();
      await store.close();
    },
  );
});

function faultOf(work: () => unknown) {
  try {
    work();
  } catch (error) {
    if (error instanceof FaultError) return error.fault;
    throw error;
  }
  throw new Error("no fault");
}

function hasCode(code: string) {
  return (error: unknown) => error instanceof FaultError && error.fault.code === code;
}

function touch(file: string): string {
  writeFileSync(file, "");
  return file;
}
