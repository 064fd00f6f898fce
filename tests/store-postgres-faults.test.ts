import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { type FaultCode, FaultError } from "../src/core/fault.ts";
import type { Connection } from "../src/store/postgres/driver.ts";
import { assertUsable, migrate } from "../src/store/postgres/migrate.ts";
import { type PostgresOptions, postgres } from "../src/store/postgres/postgres-store.ts";
import { acme, ana, event, hire, land, landed, order } from "../src/testing/store-contract/law.ts";
import { database, unmigrated } from "./postgres/database.ts";

async function open(url: string, options: PostgresOptions = {}) {
  const store = await postgres(url, options);
  onTestFinished(() => store.close());
  return store;
}

function changed(url: string, change: Partial<Record<"port" | "username" | "pathname", string>>): string {
  return Object.assign(new URL(url), change).href;
}

const migrations = readdirSync(new URL("../src/store/postgres/migrations/", import.meta.url)).length;

describe("opening a Postgres", () => {
  const made = database();

  it.each([
    ["that nobody answers for", (): string => changed(made.url, { port: "1" }), "STORE_FAILED", /start the server/],
    [
      "that knows no such user",
      (): string => changed(made.url, { username: "writ_nobody" }),
      "STORE_UNUSABLE",
      /check the user/,
    ],
    [
      "without that database",
      (): string => changed(made.url, { pathname: "writ_nowhere" }),
      "STORE_UNUSABLE",
      /create it/,
    ],
    ["by an address that is none", (): string => "postgres://[", "STORE_FAILED", /postgres/],
  ] as const)("%s says so, and what to do", async (_, url, code, about) => {
    const fault = await faultOf(postgres(url()));
    assert.equal(fault.code, code);
    assert.match(fault.message, about);
    assert.doesNotMatch(fault.message, /:writ_test_app@/, "no password is shown");
  });

  it("whose tables this role may not use names the command that lets it", async () => {
    await made.query("create role writ_test_stranger login password 'x'");
    onTestFinished(async () => void (await made.query("drop role writ_test_stranger")));
    const url = changed(made.url, { username: "writ_test_stranger" });
    const fault = await faultOf(postgres(url.replace("writ_test_app@", "x@")));
    assert.equal(fault.code, "STORE_UNUSABLE");
    assert.match(fault.message, /writ migrate --grant/);
  });

  it("that has no connection left says so", async () => {
    await made.query("create role writ_test_crowd login password 'x' connection limit 0");
    onTestFinished(async () => void (await made.query("drop role writ_test_crowd")));
    const url = changed(made.url, { username: "writ_test_crowd" });
    const fault = await faultOf(postgres(url.replace("writ_test_app@", "x@")));
    assert.equal(fault.code, "STORE_FAILED");
    assert.match(fault.message, /no connection left/);
  });

  it("from the future names both versions, and touches nothing", async () => {
    await made.query("insert into writ.migration values (99, 'later')");
    onTestFinished(async () => void (await made.query("delete from writ.migration where number = 99")));
    for (const open of [() => postgres(made.url), () => migrate(made.ownerUrl)]) {
      const { code, message } = await faultOf(open());
      assert.equal(code, "STORE_NEWER");
      assert.match(message, new RegExp(`version 99 .* knows ${migrations}`));
    }
  });

  it.each([
    ["14.9", [140_009, "14.9", "UTF8", false], "STORE_UNUSABLE", /needs 15/],
    ["with another encoding", [170_000, "17.0", "SQL_ASCII", false], "STORE_UNUSABLE", /encoding UTF8/],
    ["that is a standby", [170_000, "17.0", "UTF8", true], "STORE_READ_ONLY", /primary/],
  ] as const)("%s is refused", async (_, said, code, about) => {
    const connection = { query: async () => ({ rows: [said] }) } as unknown as Connection;
    const fault = await faultOf(assertUsable(connection, "postgres"));
    assert.equal(fault.code, code);
    assert.match(fault.message, about);
  });
});

describe("migrating a Postgres", () => {
  const made = unmigrated();
  const tables = async () => (await made.query("select 1 from pg_tables where schemaname = 'writ'")).length;

  it("is asked for by whoever opens one without tables", async () => {
    const fault = await faultOf(postgres(made.ownerUrl));
    assert.equal(fault.code, "STORE_OLDER");
    assert.match(fault.message, /writ migrate/);
    assert.equal(await tables(), 0);
  });

  it("is refused to who may not, and leaves nothing", async () => {
    const fault = await faultOf(migrate(made.url));
    assert.equal(fault.code, "STORE_UNUSABLE");
    assert.equal(await tables(), 0);
  });

  it("leaves nothing if it fails at its end", async () => {
    const fault = await faultOf(migrate(made.ownerUrl, { grant: "writ_nobody" }));
    assert.match(fault.message, /writ_nobody/);
    assert.equal(await tables(), 0);
  });

  it("does not touch a schema of somebody else", async () => {
    await made.query("create schema writ");
    const fault = await faultOf(migrate(made.ownerUrl));
    await made.query("drop schema writ");
    assert.equal(fault.code, "STORE_UNUSABLE");
    assert.match(fault.message, /something else/);
  });

  it("twice at once waits for the other and then has nothing to do", async () => {
    await made.query("select pg_advisory_lock(1467115892)");
    const both = Promise.all([migrate(made.ownerUrl), migrate(made.ownerUrl)]);
    const waiting = `select count(*)::integer from pg_locks l join pg_database d on d.oid = l.database
                     where l.locktype = 'advisory' and not l.granted and d.datname = current_database()`;
    for (;;) if (((await made.query<[number]>(waiting))[0]?.[0] ?? 0) === 2) break;
    await made.query("select pg_advisory_unlock(1467115892)");
    const applied = (await both).map((migrated) => migrated.applied.length).toSorted();
    assert.deepEqual(applied, [0, migrations]);
  });
});

describe("a Postgres that takes no writes", () => {
  const made = database();

  it("because it is read-only says STORE_READ_ONLY, and still reads", async () => {
    await landed(await open(made.url), {});
    await made.query(`alter database ${new URL(made.url).pathname.slice(1)} set default_transaction_read_only = on`);
    onTestFinished(async () => {
      await made.query(`set transaction_read_only = off`);
      await made.query(
        `begin; set transaction read write; alter database ${new URL(made.url).pathname.slice(1)} reset all; commit`,
      );
    });
    const store = await open(made.url);
    for (const wish of [{ at: 1 }, { run: order }]) {
      const fault = await faultOf(land(store, wish));
      assert.equal(fault.code, "STORE_READ_ONLY");
    }
    assert.equal((await faultOf(store.claim(ana, acme, hire))).code, "STORE_READ_ONLY");
    assert.equal((await store.events(acme, hire, 0)).length, 1);
  });
});

describe("a Postgres without room", () => {
  const made = database();

  it("says STORE_FULL to who needs some, writes nothing of it, and lands the others", async () => {
    const store = await open(made.url);
    const runs = Array.from({ length: 6 }, (_, nth) => `run-${nth}` as never);
    await Promise.all(runs.map((run) => landed(store, { run })));
    // The disk is not ours to fill; its word is.
    await made.query(`create function public.no_room() returns trigger language plpgsql as
      $$ begin raise exception 'no space left on device' using errcode = '53100'; end $$`);
    await made.query(
      "create trigger no_room before insert on writ.event for each row when (new.body like '%large%') execute function public.no_room()",
    );
    onTestFinished(async () => void (await made.query("drop function public.no_room() cascade")));
    const large = event(2, `{"large":1}`);
    const asked = runs.map((run, nth) => land(store, { run, at: 1, events: [nth === 3 ? large : event(2)] }));
    const answers = await Promise.allSettled(asked);
    const [full] = answers.splice(3, 1);
    assert.ok(full?.status === "rejected" && full.reason.fault.code === "STORE_FULL");
    assert.ok(answers.every((answer) => answer.status === "fulfilled" && answer.value.landed));
    assert.equal((await store.head(acme, runs[3] as never))?.position, 1);
  });
});

describe("a store whose connections are all taken", () => {
  const made = database();

  it("says so after a while, loses nothing, and goes on appending meanwhile", async () => {
    const store = await open(made.url, { connections: 3, connectMs: 300 });
    await landed(store, {});
    await made.query("begin");
    await made.query("lock table writ.lease in access exclusive mode");
    const claiming = store.claim(ana, acme, hire);
    const fault = await faultOf(store.head(acme, hire));
    assert.equal(fault.code, "STORE_FAILED");
    assert.match(fault.message, /`connections`/);
    await landed(store, { run: order });
    await made.query("rollback");
    assert.notEqual(await claiming, null);
    assert.equal((await store.head(acme, hire))?.position, 1);
  });
});

describe("an entry that Postgres refuses", () => {
  const made = database();

  it("leaves nothing behind of the run that it begins, though it was to be claimed with it", async () => {
    const store = await open(made.url);
    const refused = land(store, { events: [event(1, "\0")] });
    const claiming = store.claim(ana, acme, hire);
    assert.equal((await faultOf(refused)).code, "STORE_FAILED");
    assert.equal((await faultOf(claiming)).code, "STORE_FAILED");
    assert.deepEqual(await store.runs(acme, "", 9), []);
    assert.deepEqual(await store.holdings(acme, "", 9), []);
  });
});

describe("what a commit waits for", () => {
  const made = database();

  it("is the disk if it is hard, whatever the database's own setting, and nothing if it is soft", async () => {
    // What the setting is when the transaction commits.
    await made.query("create table public.noted (run text, setting text)");
    await made.query(`create function public.note() returns trigger language plpgsql security definer as
      $$ begin insert into public.noted values (new.run, current_setting('synchronous_commit')); return null; end $$`);
    await made.query(
      "create constraint trigger note after insert on writ.event deferrable initially deferred for each row execute function public.note()",
    );
    await made.query(`alter database ${new URL(made.url).pathname.slice(1)} set synchronous_commit = off`);
    const store = await open(made.url);
    await landed(store, { run: "first-hard" as never, flush: "hard" });
    await landed(store, { run: "first-soft" as never, flush: "soft" });
    await landed(store, { run: "first-hard" as never, at: 1, flush: "hard" });
    await landed(store, { run: "first-soft" as never, at: 1, flush: "soft" });
    const noted = await made.query("select run, setting from public.noted order by 1, 2");
    expect(noted).toEqual([
      ["first-hard", "on"],
      ["first-hard", "on"],
      ["first-soft", "off"],
      ["first-soft", "off"],
    ]);
  });
});

describe("closing", () => {
  const made = database();

  it("lands what waits, and takes nothing after", async () => {
    const store = await postgres(made.url);
    const waiting = Array.from({ length: 9 }, (_, nth) => land(store, { run: `run-${nth}` as never }));
    await store.close();
    await store.close();
    for (const answer of await Promise.all(waiting)) assert.deepEqual(answer, { landed: true });
    assert.equal((await faultOf(land(store, { at: 1 }))).code, "STORE_FAILED");
    assert.equal((await faultOf(store.head(acme, hire))).code, "STORE_FAILED");
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
