import assert from "node:assert/strict";
import { describe, expect, it, onTestFinished } from "vitest";
import { type FaultCode, FaultError } from "../../../src/core/values/fault.ts";
import { assertUsable, migrate } from "../../../src/store/postgres/migrate.ts";
import type { Connection } from "../../../src/store/postgres/pg-driver.ts";
import { type PostgresMigration, postgresMigrations } from "../../../src/store/postgres/postgres-migrations.ts";
import { type PostgresOptions, postgres } from "../../../src/store/postgres/postgres-store.ts";
import {
  appendEntry,
  assertLands,
  buildEvent,
  runA,
  runB,
  tenantA,
  workerA,
} from "../../../src/testing/store-contract/contract-rule.ts";
import { schemaText } from "./schema-text.ts";
import { emptyTestDatabase, testDatabase } from "./test-database.ts";

async function open(url: string, options: PostgresOptions = {}) {
  const store = await postgres(url, options);
  onTestFinished(() => store.close());
  return store;
}

function withUrlParts(url: string, change: Partial<Record<"port" | "username" | "pathname", string>>): string {
  return Object.assign(new URL(url), change).href;
}

const migrations = postgresMigrations.length;

describe("opening a Postgres store", () => {
  const database = testDatabase();

  it.each([
    [
      "without a running server",
      (): string => withUrlParts(database.url, { port: "1" }),
      "STORE_FAILED",
      /start the server/,
    ],
    [
      "without that user",
      (): string => withUrlParts(database.url, { username: "writ_nobody" }),
      "STORE_UNUSABLE",
      /check the user/,
    ],
    [
      "without that database",
      (): string => withUrlParts(database.url, { pathname: "writ_nowhere" }),
      "STORE_UNUSABLE",
      /create it/,
    ],
    ["with an invalid URL", (): string => "postgres://[", "STORE_FAILED", /postgres/],
  ] as const)("%s: reports it and what to do", async (_, url, code, about) => {
    const fault = await faultOf(postgres(url()));
    assert.equal(fault.code, code);
    assert.match(fault.message, about);
    assert.doesNotMatch(fault.message, /:writ_test_app@/, "no password is shown");
  });

  it("whose tables this role may not use: names the command that grants it", async () => {
    await database.query("create role writ_test_stranger login password 'x'");
    onTestFinished(async () => void (await database.query("drop role writ_test_stranger")));
    const url = withUrlParts(database.url, { username: "writ_test_stranger" });
    const fault = await faultOf(postgres(url.replace("writ_test_app@", "x@")));
    assert.equal(fault.code, "STORE_UNUSABLE");
    assert.match(fault.message, /writ migrate --grant/);
  });

  it("without a free connection: reports it", async () => {
    await database.query("create role writ_test_crowd login password 'x' connection limit 0");
    onTestFinished(async () => void (await database.query("drop role writ_test_crowd")));
    const url = withUrlParts(database.url, { username: "writ_test_crowd" });
    const fault = await faultOf(postgres(url.replace("writ_test_app@", "x@")));
    assert.equal(fault.code, "STORE_FAILED");
    assert.match(fault.message, /all its connections are in use/);
  });

  it("with a newer schema: names both versions and changes nothing", async () => {
    await database.query("insert into writ.migration values (99, 'later')");
    onTestFinished(async () => void (await database.query("delete from writ.migration where number = 99")));
    for (const open of [() => postgres(database.url), () => migrate(database.ownerUrl)]) {
      const { code, message } = await faultOf(open());
      assert.equal(code, "STORE_NEWER");
      assert.match(message, new RegExp(`version 99 .* knows ${migrations}`));
    }
  });

  it.each([
    ["13.22", [130_022, "13.22", "UTF8", false], "STORE_UNUSABLE", /is Postgres 13\.22; Writ needs 14 or later/],
    ["with another encoding", [170_000, "17.0", "SQL_ASCII", false], "STORE_UNUSABLE", /encoding UTF8/],
    ["that is a standby", [170_000, "17.0", "UTF8", true], "STORE_READ_ONLY", /primary/],
  ] as const)("%s: is refused", async (_, reply, code, about) => {
    const connection = { query: async () => ({ rows: [reply] }) } as unknown as Connection;
    const fault = await faultOf(assertUsable(connection, "postgres"));
    assert.equal(fault.code, code);
    assert.match(fault.message, about);
  });
});

describe("migrating a Postgres store", () => {
  const database = emptyTestDatabase();
  const tables = async () => (await database.query("select 1 from pg_tables where schemaname = 'writ'")).length;

  it("is demanded by a database without tables", async () => {
    const fault = await faultOf(postgres(database.ownerUrl));
    assert.equal(fault.code, "STORE_OLDER");
    assert.match(fault.message, /writ migrate/);
    assert.equal(await tables(), 0);
  });

  it("is refused to a role without permission, and leaves nothing", async () => {
    const fault = await faultOf(migrate(database.url));
    assert.equal(fault.code, "STORE_UNUSABLE");
    assert.match(fault.message, /migrate as the owner of the database/);
    assert.equal(await tables(), 0);
  });

  it("leaves nothing if it fails at its end", async () => {
    const fault = await faultOf(migrate(database.ownerUrl, { grant: "writ_nobody" }));
    assert.match(fault.message, /writ_nobody/);
    assert.equal(await tables(), 0);
  });

  it("does not touch a foreign schema of the same name", async () => {
    await database.query("create schema writ authorization writ_test_owner");
    const fault = await faultOf(migrate(database.ownerUrl));
    await database.query("drop schema writ");
    assert.equal(fault.code, "STORE_UNUSABLE");
    assert.match(fault.message, /not of Writ/);
  });

  it("waits for a concurrent migration and then has nothing to do", async () => {
    await database.query("select pg_advisory_lock(1467115892)");
    const both = Promise.all([migrate(database.ownerUrl), migrate(database.ownerUrl)]);
    const waiting = `select count(*)::integer from pg_locks l join pg_database d on d.oid = l.database
                     where l.locktype = 'advisory' and not l.granted and d.datname = current_database()`;
    for (;;) if (((await database.query<[number]>(waiting))[0]?.[0] ?? 0) === 2) break;
    await database.query("select pg_advisory_unlock(1467115892)");
    const applied = (await both).map((migrated) => migrated.applied.length).toSorted();
    assert.deepEqual(applied, [0, migrations]);
  });

  it("succeeds on a server that soon ends idle transactions", async () => {
    const endIdleAfter = async (ms: number) => {
      const set = `alter database %I set idle_in_transaction_session_timeout = ${ms}`;
      await database.query(`do $$ begin execute format('${set}', current_database()); end $$`);
    };
    await database.query("drop schema writ cascade");
    await endIdleAfter(1);
    onTestFinished(() => endIdleAfter(0));
    assert.equal((await migrate(database.ownerUrl)).applied.length, migrations);
  });

  it("removes the setting that only a superuser can define from a store of an earlier version", async () => {
    const schema = await schemaText(database);
    const settings = "select 1 from pg_proc where array_to_string(proconfig, ' ') like '%writ.claiming%'";
    const claiming = ["claim_due", "claim_needed", "next_due"];
    await database.query("drop schema writ cascade");
    for (const migration of postgresMigrations.slice(0, 8)) await database.query(ownedMigration(migration));
    for (const name of claiming) await database.query(`alter function writ.${name} set writ.claiming = 'yes'`);
    assert.equal((await database.query(settings)).length, claiming.length);
    const { applied } = await migrate(database.ownerUrl);
    assert.deepEqual(applied[0], "0009-plain-owner");
    assert.equal((await database.query(settings)).length, 0);
    assert.equal(await schemaText(database), schema);
  });
});

describe("a Postgres store that a newer Writ migrates", () => {
  const database = emptyTestDatabase();

  it("tells a running process of another version what to do, and it writes nothing", async () => {
    await migrate(database.ownerUrl);
    const store = await open(database.ownerUrl);
    await assertLands(store, {});
    const found = await database.query<[string]>(
      "select oid::regprocedure::text from pg_proc where proname like 'append%' and pronamespace = 'writ'::regnamespace",
    );
    for (const [name] of found) await database.query(`drop function ${name}`);
    const told = /STORE_OLDER.*if a newer Writ has migrated it, use the newer Writ/;
    await assert.rejects(appendEntry(store, { at: 1 }), told);
    assert.equal((await store.head(tenantA, runA))?.position, 1);
  });
});

/** Returns the statements of one migration as the owner of the tables runs them. */
function ownedMigration({ number, name, sql }: PostgresMigration): string {
  const noted = `insert into writ.migration (number, name) values (${number}, '${name}')`;
  return `set role writ_test_owner; ${sql}; ${noted}; reset role`;
}

describe("read-only Postgres", () => {
  const database = testDatabase();

  it("returns STORE_READ_ONLY for writes and still reads", async () => {
    await assertLands(await open(database.url), {});
    await database.query(
      `alter database ${new URL(database.url).pathname.slice(1)} set default_transaction_read_only = on`,
    );
    onTestFinished(async () => {
      await database.query(`set transaction_read_only = off`);
      await database.query(
        `begin; set transaction read write; alter database ${new URL(database.url).pathname.slice(1)} reset all; commit`,
      );
    });
    const store = await open(database.url);
    for (const wish of [{ at: 1 }, { run: runB }]) {
      const fault = await faultOf(appendEntry(store, wish));
      assert.equal(fault.code, "STORE_READ_ONLY");
    }
    assert.equal((await faultOf(store.claim(workerA, tenantA, runA))).code, "STORE_READ_ONLY");
    assert.equal((await store.events(tenantA, runA, 0)).length, 1);
  });
});

describe("full Postgres", () => {
  const database = testDatabase();

  it("returns STORE_FULL for entries that need space, writes nothing of them and lands the others", async () => {
    const store = await open(database.url);
    const runs = Array.from({ length: 6 }, (_, nth) => `run-${nth}` as never);
    await Promise.all(runs.map((run) => assertLands(store, { run })));
    // A trigger raises the error of a full disk.
    await database.query(`create function public.no_room() returns trigger language plpgsql as
      $$ begin raise exception 'no space left on device' using errcode = '53100'; end $$`);
    await database.query(
      "create trigger no_room before insert on writ.event for each row when (new.body like '%large%') execute function public.no_room()",
    );
    onTestFinished(async () => void (await database.query("drop function public.no_room() cascade")));
    const large = buildEvent(2, `{"large":1}`);
    const appends = runs.map((run, nth) =>
      appendEntry(store, { run, at: 1, events: [nth === 3 ? large : buildEvent(2)] }),
    );
    const answers = await Promise.allSettled(appends);
    const [full] = answers.splice(3, 1);
    assert.ok(full?.status === "rejected" && full.reason.fault.code === "STORE_FULL");
    assert.ok(answers.every((answer) => answer.status === "fulfilled" && answer.value.landed));
    assert.equal((await store.head(tenantA, runs[3] as never))?.position, 1);
  });
});

describe("store with all connections taken", () => {
  const database = testDatabase();

  it("reports it after a timeout, loses nothing and keeps appending", async () => {
    const store = await open(database.url, { connections: 3, connectMs: 300 });
    await assertLands(store, {});
    await database.query("begin");
    await database.query("lock table writ.lease in access exclusive mode");
    const claiming = store.claim(workerA, tenantA, runA);
    const fault = await faultOf(store.head(tenantA, runA));
    assert.equal(fault.code, "STORE_FAILED");
    assert.match(fault.message, /`connections`/);
    await assertLands(store, { run: runB });
    await database.query("rollback");
    assert.notEqual(await claiming, null);
    assert.equal((await store.head(tenantA, runA))?.position, 1);
  });
});

describe("entry that Postgres refuses", () => {
  const database = testDatabase();

  it("leaves nothing of the run it begins, though the run was to be claimed with it", async () => {
    const store = await open(database.url);
    const refused = appendEntry(store, { events: [buildEvent(1, "\0")] });
    const claiming = store.claim(workerA, tenantA, runA);
    assert.equal((await faultOf(refused)).code, "STORE_FAILED");
    assert.equal((await faultOf(claiming)).code, "STORE_FAILED");
    assert.deepEqual(await store.runs(tenantA, "", 9), []);
    assert.deepEqual(await store.holdings(tenantA, "", 9), []);
  });
});

describe("commit", () => {
  const database = testDatabase();

  it("waits for the disk if it is hard, whatever the database setting, and not if it is soft", async () => {
    // Records the setting at the time of the commit.
    await database.query("create table public.noted (run text, setting text)");
    await database.query(`create function public.note() returns trigger language plpgsql security definer as
      $$ begin insert into public.noted values (new.run, current_setting('synchronous_commit')); return null; end $$`);
    await database.query(
      "create constraint trigger note after insert on writ.event deferrable initially deferred for each row execute function public.note()",
    );
    await database.query(`alter database ${new URL(database.url).pathname.slice(1)} set synchronous_commit = off`);
    const store = await open(database.url);
    await assertLands(store, { run: "first-hard" as never, flush: "hard" });
    await assertLands(store, { run: "first-soft" as never, flush: "soft" });
    await assertLands(store, { run: "first-hard" as never, at: 1, flush: "hard" });
    await assertLands(store, { run: "first-soft" as never, at: 1, flush: "soft" });
    const noted = await database.query("select run, setting from public.noted order by 1, 2");
    expect(noted).toEqual([
      ["first-hard", "on"],
      ["first-hard", "on"],
      ["first-soft", "off"],
      ["first-soft", "off"],
    ]);
  });
});

describe("closing", () => {
  const database = testDatabase();

  it("lands waiting entries and takes no more", async () => {
    const store = await postgres(database.url);
    const waiting = Array.from({ length: 9 }, (_, nth) => appendEntry(store, { run: `run-${nth}` as never }));
    await store.close();
    await store.close();
    for (const answer of await Promise.all(waiting)) assert.deepEqual(answer, { landed: true });
    assert.equal((await faultOf(appendEntry(store, { at: 1 }))).code, "STORE_FAILED");
    assert.equal((await faultOf(store.head(tenantA, runA))).code, "STORE_FAILED");
  });
});

async function faultOf(work: Promise<unknown>): Promise<{ readonly code: FaultCode; readonly message: string }> {
  try {
    await work;
  } catch (error) {
    if (error instanceof FaultError) return error.fault;
    throw error;
  }
  throw new Error("no fault");
}
