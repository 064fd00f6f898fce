import assert from "node:assert/strict";
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { FaultError } from "../src/core/fault.ts";
import { assertRecent, connect } from "../src/store/sqlite/driver.ts";
import { openDatabase } from "../src/store/sqlite/open.ts";
import { sqlite, sqliteStore } from "../src/store/sqlite/sqlite-store.ts";
import { hasWorker } from "../src/store/sqlite/worker-lock.ts";
import { fakeClock } from "../src/testing/clock.ts";
import {
  acme,
  ana,
  bob,
  claimed,
  entry,
  event,
  hashOf,
  hire,
  land,
  landed,
  order,
} from "../src/testing/store-contract/law.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-file-"));
let files = 0;
const newFile = (): string => join(folder, `${files++}.db`);

afterAll(() => rmSync(folder, { recursive: true }));

describe("opening a file", () => {
  it("keeps it and all that belongs to it for its owner alone", async () => {
    const file = newFile();
    const store = sqlite(file);
    await store.lockWorker();
    await landed(store, { flush: "hard" });
    const modes = ["", "-wal", "-shm", "-worker"].map((suffix) => statSync(file + suffix).mode & 0o777);
    assert.deepEqual(modes, [0o600, 0o600, 0o600, 0o600]);
    await store.close();
  });

  it("finds what was there", async () => {
    const file = newFile();
    const first = sqlite(file);
    await landed(first, { flush: "soft" });
    await first.close();
    const second = sqlite(file);
    assert.equal((await second.head(acme, hire))?.position, 1);
    await second.close();
  });

  it("refuses a schema from the future and names both versions", () => {
    const file = newFile();
    const { db } = openDatabase(file);
    db.exec("insert into migration (number, name) values (99, 'later')");
    db.close();
    const { code, message } = faultOf(() => sqlite(file));
    assert.equal(code, "STORE_NEWER");
    assert.match(message, /version 99 .* knows 4/);
  });

  it("refuses a file that is no database", () => {
    const file = newFile();
    writeFileSync(file, "Dear diary, ".repeat(100));
    assert.equal(faultOf(() => sqlite(file)).code, "STORE_UNUSABLE");
    assert.match(readFileSync(file, "utf8"), /^Dear diary/);
  });

  it("refuses a database of something else and leaves it alone", () => {
    const file = newFile();
    const db = connect(file);
    db.exec("create table migration (id)");
    db.close();
    assert.match(faultOf(() => sqlite(file)).message, /something else/);
    const again = connect(file);
    assert.equal(again.prepare("select name from sqlite_schema").all().length, 1);
    again.close();
  });

  it.each(["ledger", "migration"])("refuses a file whose table %s is gone, and says so", (table) => {
    const file = newFile();
    const { db } = openDatabase(file);
    db.exec(`drop table ${table}`);
    db.close();
    const { code, message } = faultOf(() => sqlite(file));
    assert.equal(code, "STORE_UNUSABLE");
    assert.match(message, new RegExp(`tables are not those that Writ made.* no such table: ${table}`));
  });

  it.each([
    ["a directory that is not there", () => join(folder, "none", "writ.db"), "STORE_UNUSABLE"],
    ["a directory that is a file", () => join(touch(newFile()), "writ.db"), "STORE_UNUSABLE"],
    ["a path that is a directory", () => folder, "STORE_UNUSABLE"],
  ] as const)("refuses %s and says what to do", (_, path, code) => {
    const fault = faultOf(() => sqlite(path()));
    assert.equal(fault.code, code);
    assert.match(fault.message, /create|give|check/);
  });

  it.each(["3.51.2", "3.50.9", "2.99.99"])("refuses SQLite %s and says which one it needs", (version) => {
    const { code, message } = faultOf(() => assertRecent(version));
    assert.equal(code, "STORE_UNUSABLE");
    assert.ok(message.includes(version) && message.includes("3.51.3"));
  });

  it.each(["3.51.3", "3.53.0", "4.0.0"])("takes SQLite %s", (version) => assertRecent(version));

  it("has the schema that is written down", async () => {
    const { db } = openDatabase(newFile());
    const rows = db
      .prepare("select sql from sqlite_schema where sql is not null order by tbl_name, type desc, name")
      .all();
    const dump = rows.map((row) => `${(row as { readonly sql: string }).sql};\n`).join("\n");
    db.close();
    await expect(dump).toMatchFileSnapshot("../src/store/sqlite/schema.sql");
  });
});

describe("committing in groups", () => {
  it("commits what one turn asks for in one transaction", async () => {
    const { db, file } = openDatabase(newFile());
    const store = sqliteStore(db, file);
    const other = connect(file);
    const version = () =>
      (other.prepare("pragma data_version").get() as { readonly data_version: number }).data_version;
    const seen = version();
    const runs = Array.from({ length: 20 }, (_, index) => land(store, { run: `run-${index}` as never }));
    await Promise.all([...runs, store.claim(ana, acme, hire), store.putBlob(acme, "ab" as never, new Uint8Array(3))]);
    assert.equal(version(), seen + 1);
    other.close();
    await store.close();
  });

  it("syncs for a hard entry and does not for soft ones, claims and markers", async () => {
    const { db, file } = openDatabase(newFile());
    const store = sqliteStore(db, file);
    const synchronous = () => (db.prepare("pragma synchronous").get() as { readonly synchronous: number }).synchronous;
    const [normal, full] = [1, 2];
    await landed(store, { flush: "soft" });
    assert.equal(synchronous(), normal);
    await Promise.all([land(store, { at: 1, flush: "soft" }), land(store, { run: order, flush: "hard" })]);
    assert.equal(synchronous(), full);
    const claim = await claimed(store, ana);
    assert.equal(synchronous(), normal);
    await landed(store, { at: 2, flush: "hard" });
    await store.mark(claim, "send" as never, 1);
    assert.equal(synchronous(), normal);
    await store.close();
  });

  it("rejects the one call that SQLite refuses and lands the others of its turn", async () => {
    const store = sqlite(newFile());
    const broken = { table: "run", key: "r", was: "any", row: "not JSON" } as const;
    const turn = [
      land(store, {}),
      land(store, { run: order, puts: [broken] }),
      land(store, { tenant: "globex" as never }),
    ];
    const [first, second, third] = await Promise.allSettled(turn);
    assert.deepEqual([first?.status, second?.status, third?.status], ["fulfilled", "rejected", "fulfilled"]);
    assert.equal(second?.status === "rejected" && second.reason.fault.code, "STORE_FAILED");
    assert.equal(await store.head(acme, order), null);
    assert.equal((await store.head(acme, hire))?.position, 1);
    await store.close();
  });

  it("says STORE_FULL when there is no room, writes nothing and goes on when there is", async () => {
    const { db, file } = openDatabase(newFile());
    const store = sqliteStore(db, file);
    await landed(store, { flush: "hard" });
    const { page_count } = db.prepare("pragma page_count").get() as { readonly page_count: number };
    db.exec(`pragma max_page_count = ${page_count}`);
    const large = event(2, JSON.stringify("x".repeat(100_000)));
    const puts = [{ table: "ledger", key: "k", was: null, row: "{}" }] as const;
    const turn = [land(store, { at: 1, events: [large], puts }), land(store, { run: order, events: [event(1)] })];
    const [full, small] = await Promise.allSettled(turn);
    assert.equal(full?.status === "rejected" && full.reason.fault.code, "STORE_FULL");
    assert.deepEqual(small, { status: "fulfilled", value: { landed: true } });
    assert.equal(await store.row(acme, "ledger", "k"), null);
    assert.equal((await store.head(acme, hire))?.position, 1);
    db.exec("pragma max_page_count = 100000");
    await landed(store, { at: 1, events: [large], puts });
    await store.close();
  });

  it("says STORE_READ_ONLY when it may not write, and still reads", async () => {
    const { db, file } = openDatabase(newFile());
    const store = sqliteStore(db, file);
    await landed(store, {});
    db.exec("pragma query_only = on");
    await assert.rejects(land(store, { at: 1 }), hasCode("STORE_READ_ONLY"));
    assert.equal((await store.events(acme, hire, 0)).length, 1);
    await store.close();
  });

  it("says STORE_FAILED when another process keeps the file locked, and tries none of them again", async () => {
    const { db, file } = openDatabase(newFile());
    const store = sqliteStore(db, file);
    db.exec("pragma busy_timeout = 0");
    const other = connect(file);
    other.exec("begin immediate");
    const [one, two] = await Promise.allSettled([land(store, {}), land(store, { run: order })]);
    assert.ok(one?.status === "rejected" && two?.status === "rejected");
    assert.match(one.reason.message, /STORE_FAILED: .*locked/);
    other.exec("rollback");
    other.close();
    await landed(store, {});
    await store.close();
  });

  it("commits what waits before it closes, and takes nothing after", async () => {
    const file = newFile();
    const store = sqlite(file);
    const waiting = store.append([entry({})]);
    await store.close();
    await store.close();
    assert.deepEqual(await waiting, [{ landed: true }]);
    await assert.rejects(land(store, { at: 1 }), hasCode("STORE_FAILED"));
    await assert.rejects(store.head(acme, hire), hasCode("STORE_FAILED"));
  });
});

describe("closing a file", () => {
  it("leaves all of the record in it and nothing in its log", async () => {
    const file = newFile();
    const store = sqlite(file);
    await landed(store, { flush: "hard" });
    await landed(store, { at: 1, flush: "soft" });
    await store.close();
    assert.equal(statSync(`${file}-wal`).size, 0);
    const copy = newFile();
    copyFileSync(file, copy);
    const again = sqlite(copy);
    assert.equal((await again.head(acme, hire))?.position, 2);
    await again.close();
  });

  it("does not wait for those who still read or write, and leaves the log to them", async () => {
    const file = newFile();
    const store = sqlite(file);
    await landed(store, {});
    const other = connect(file);
    for (const begin of ["begin; select * from head", "begin immediate"]) {
      const closing = sqlite(file);
      other.exec(begin);
      await closing.close();
      other.exec("rollback");
    }
    other.close();
    assert.equal((await store.head(acme, hire))?.position, 1);
    await store.close();
    assert.equal(statSync(`${file}-wal`).size, 0);
  });
});

describe("sharing a file", () => {
  it("lets a second opener send commands and hints to the first that something was written", async () => {
    const file = newFile();
    const clock = fakeClock();
    const worker = sqlite(file, { timers: clock });
    const window = sqlite(file);
    let hints = 0;
    const stop = worker.watch(() => hints++);
    clock.advance(1000);
    await landed(worker, {});
    clock.advance(1000);
    assert.equal(hints, 0);
    await landed(window, { at: 1 });
    clock.advance(50);
    assert.equal(hints, 1);
    assert.equal((await worker.head(acme, hire))?.position, 2);
    stop();
    await landed(window, { at: 2 });
    clock.advance(1000);
    assert.equal(hints, 1);
    await worker.close();
    await window.close();
  });

  it("has one worker at a time, whatever name the file is opened by", async () => {
    const file = newFile();
    const link = newFile();
    const first = sqlite(file);
    await first.lockWorker();
    symlinkSync(file, link);
    const second = sqlite(link);
    await assert.rejects(second.lockWorker(), hasCode("STORE_BUSY"));
    await landed(second, {});
    await first.close();
    await second.lockWorker();
    await second.close();
  });

  it("tells whether it has a worker, without getting in its way", async () => {
    const file = newFile();
    const store = sqlite(file);
    assert.equal(hasWorker(file), false);
    await store.lockWorker();
    assert.equal(hasWorker(file), true);
    await store.close();
    assert.equal(hasWorker(file), false);
    const next = sqlite(file);
    await next.lockWorker();
    await next.close();
  });

  it("takes over at once what a former worker held", async () => {
    const file = newFile();
    const former = sqlite(file);
    await former.lockWorker();
    const late = await claimed(former, ana);
    const next = sqlite(file);
    assert.equal(await next.claim(bob, acme, hire), null);
    await former.close();
    await next.lockWorker();
    const claim = await claimed(next, bob);
    assert.ok(claim.epoch > late.epoch);
    await next.lockWorker();
    assert.equal(await next.claim(ana, acme, hire), null);
    await next.close();
  });
});

describe("erasing from a file", () => {
  it("leaves no byte of a body in it, in its log or on its free pages", async () => {
    const file = newFile();
    const store = sqlite(file);
    const secrets = [`{"s":"hush-small"}`, `{"s":"${"hush-large ".repeat(2000)}"}`];
    for (let at = 0; at < 60; at++) await landed(store, { at, events: [event(at + 1, secrets[at % 2])] });
    assert.equal(await store.erase({ tenant: acme, run: hire, position: 60, keep: [], blobs: [] }, hashOf), 60);
    for (const name of readdirSync(folder).filter((name) => join(folder, name).startsWith(file))) {
      assert.equal(readFileSync(join(folder, name)).includes("hush"), false, name);
    }
    await store.close();
  });
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
