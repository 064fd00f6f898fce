import assert from "node:assert/strict";
import { describe, it, onTestFinished } from "vitest";
import type { Entry, Store } from "../../../src/core/store/store.ts";
import type { RunId, WorkerId } from "../../../src/core/values/ids.ts";
import { appendCall, createBatch } from "../../../src/store/postgres/append-batch.ts";
import { type PostgresOptions, postgres } from "../../../src/store/postgres/postgres-store.ts";
import { fakeClock } from "../../../src/testing/fake-clock.ts";
import {
  assertLands,
  buildEntry,
  claimRun,
  rowJson,
  runA,
  stepA,
  tenantA,
  tenantB,
  timerJson,
  workerA,
  workerB,
} from "../../../src/testing/store-contract/contract-rule.ts";
import { dumpPostgres } from "./postgres-dump.ts";
import { testDatabase } from "./test-database.ts";

const database = testDatabase();

async function openStore(options: PostgresOptions = {}): Promise<Store> {
  const store = await postgres(database.url, options);
  onTestFinished(() => store.close());
  return store;
}

describe("processes on one Postgres", () => {
  it("are notified of each other's commands and not of their own", async () => {
    await database.empty();
    const [one, two] = [await openStore(), await openStore()];
    // The first hint reports that the store listens; the server registers the listener slightly earlier.
    const [first, second] = [hintsOf(one), hintsOf(two)];
    await Promise.all([first.waitFor(1), second.waitFor(1)]);
    await assertLands(one, { epoch: null });
    await second.waitFor(2);
    assert.equal(first.count(), 1);
    await assertLands(two, { at: 1, epoch: null });
    await first.waitFor(2);
  });

  it("are notified at once of the first of many writes and of the others together", async () => {
    await database.empty();
    const session = await database.session();
    onTestFinished(() => session.end());
    const payloads: string[] = [];
    session.on("notification", ({ payload = "" }) => void payloads.push(payload));
    await session.query("listen writ");
    const store = await postgres(database.url, { timers: { after: () => () => {} } });
    for (let at = 0; at < 5; at += 1) await assertLands(store, { at });
    await store.close();
    await session.query("select 1"); // Earlier notifications arrive before the result.
    assert.equal(payloads.length, 2);
    assert.equal(new Set(payloads).size, 1);
  });

  /** Counts the hints of a store, and waits for a number of them. */
  function hintsOf(store: Store): { count(): number; waitFor(wanted: number): Promise<void> } {
    let count = 0;
    let notify = () => {};
    store.watch(() => {
      count += 1;
      notify();
    });
    const waitFor = async (wanted: number): Promise<void> => {
      while (count < wanted)
        await new Promise<void>((resolve) => {
          notify = resolve;
        });
    };
    return { count: () => count, waitFor };
  }

  it("listen again after a broken connection and treat it as a hint", async () => {
    const clock = fakeClock();
    const store = await openStore({ timers: clock });
    const hints = hintsOf(store);
    await hints.waitFor(1);
    await database.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where query = 'listen writ' and datname = current_database()",
    );
    // The server closes the connection slightly before the process notices, so the loop advances the clock until the
    // store listens again.
    while (hints.count() < 2) {
      await listeners();
      clock.advance(60_000);
    }
  });

  async function listeners(): Promise<number> {
    const found =
      "select count(*)::integer from pg_stat_activity where query = 'listen writ' and state = 'idle' and datname = current_database()";
    return (await database.query<[number]>(found))[0]?.[0] ?? 0;
  }

  it("claim every due run once, for any number of concurrent claims", async () => {
    await database.empty();
    const stores = await Promise.all([openStore(), openStore(), openStore(), openStore()]);
    const runs = Array.from({ length: 120 }, (_, nth) => `run-${nth}` as RunId);
    const due = runs.map((run, nth) =>
      buildEntry({
        run,
        tenant: nth % 2 ? tenantA : tenantB,
        puts: [{ table: "timer", key: run, was: "any", row: timerJson(1 + (nth % 7)) }],
      }),
    );
    await stores[0]?.append(due);
    const claims = (
      await Promise.all(
        stores.flatMap((store, nth) =>
          Array.from({ length: 8 }, () => store.claimDue(`worker-${nth}` as WorkerId, 10)),
        ),
      )
    ).flat();
    const names = claims.map(({ tenant, run }) => `${tenant} ${run}`);
    assert.equal(new Set(names).size, names.length);
    const rest = await stores[0]?.claimDue(workerA, 200);
    assert.equal(names.length + (rest?.length ?? 0), runs.length);
    assert.ok([...claims, ...(rest ?? [])].every(({ epoch }) => epoch === 1));
  });

  it.each(["claim", "marker"] as const)(
    "leave no gap between a claim and a marker: if the %s is first, the other waits",
    async (first) => {
      await database.empty();
      const clock = fakeClock();
      const store = await openStore({ clock, leaseMs: 1000 });
      const late = await claimRun(store, workerA);
      clock.advance(1000);
      const mark = () => store.mark(late, stepA, 1);
      const claim = () => store.claim(workerB, tenantA, runA);
      const session = await database.session();
      onTestFinished(() => session.end());
      await session.query(
        first === "claim"
          ? `begin; select writ.claim('${tenantA}', '${runA}', '${workerB}', 1000, ${clock.now()})`
          : `begin; select writ.mark('${tenantA}', '{${runA}}', '{${late.worker}}', '{${late.epoch}}', '{${stepA}}', '{1}')`,
      );
      const second = first === "claim" ? mark() : claim();
      await waitForBlocked(1);
      await session.query("commit");
      // A worker that may call the tool has a marker that the next holder sees.
      assert.ok(first === "claim" ? (await second) === false : (await second) !== null);
      assert.equal(await store.marked(tenantA, runA, stepA, 1, store.boot), first === "claim" ? "no" : "yes");
    },
  );
});

async function waitForBlocked(wanted: number): Promise<void> {
  const found = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
  while ((await database.query(found)).length < wanted);
}

describe("concurrent appends", () => {
  it("never deadlock, and every acknowledged entry is stored once", {
    timeout: 60_000,
  }, async () => {
    await database.empty();
    const stores = await Promise.all([1, 2, 3].map(() => postgres(database.url)));
    const random = seeded(7);
    const acknowledged: Entry[] = [];
    const appendOnce = async (store: Store): Promise<void> => {
      const runs = Array.from({ length: random() < 0.3 ? 2 : 1 }, () => `run-${Math.floor(random() * 12)}` as RunId);
      const entries: Entry[] = [];
      for (const run of runs) entries.push(randomEntry(run, (await store.head(tenantA, run))?.position ?? 0, random));
      const answers = await store.append(entries);
      acknowledged.push(...entries.filter((_, nth) => answers[nth]?.landed));
    };
    const worker = async (store: Store): Promise<void> => {
      for (let round = 0; round < 40; round += 1) await Promise.all(Array.from({ length: 6 }, () => appendOnce(store)));
    };
    await Promise.all(stores.map(worker));
    await Promise.all(stores.map((store) => store.close()));

    const { event = [], head = [], tally = [], ledger = [] } = await dumpPostgres(database);
    assert.equal(event.length, acknowledged.length);
    for (const [, run, position] of head) assert.equal(event.filter(([, of]) => of === run).length, position);
    assert.equal(ledger.length, acknowledged.flatMap(({ puts }) => puts).length);
    const charges = acknowledged.flatMap((entry) => entry.charges);
    for (const [, name, used] of tally) assert.equal(used, charges.filter(({ tally }) => tally === name).length);
    assert.ok(charges.filter(({ limit }) => limit !== null).length <= hotLimit);
    assert.equal(await deadlocks(), 0);
  });

  it("take new keys after tallies, alone or together", { timeout: 60_000 }, async () => {
    await database.empty();
    const store = await postgres(database.url);
    const [first, second, third] = ["run-1", "run-2", "run-3"] as [RunId, RunId, RunId];
    for (const run of [first, second, third])
      await assertLands(store, { run, charges: [{ tally: "hot", amount: 1, limit: null }] });
    const entryFor = (run: RunId, key: string) =>
      buildEntry({
        run,
        at: 1,
        puts: [{ table: "ledger", key, was: null, row: rowJson({ run }) }],
        charges: [{ tally: "hot", amount: 1, limit: 9 }],
      });
    const [other, session] = [await database.session(), await database.session()];
    await other.query(
      "begin; insert into writ.rows (tenant, kind, key, version, row) values ('acme', 'ledger', 'k-1', 1, '')",
    );
    // The two entries of one batch hold the tally and wait for their first key, which the other session still locks.
    const { name, values } = appendCall(createBatch([entryFor(first, "k-1"), entryFor(second, "k-2")]));
    const numbers = values.map((_, index) => `$${index + 1}`);
    const together = session.query<[object | null]>({
      text: `select writ.${name}(${numbers})`,
      values,
      rowMode: "array",
    });
    await waitForBlocked(1);
    // The single entry needs the tally and the second key.
    const alone = store.append([entryFor(third, "k-2")]);
    await waitForBlocked(2);
    await other.query("rollback");
    assert.deepEqual((await together).rows, [[null]]);
    const [lost] = await alone;
    assert.equal(lost?.landed === false && lost.why, "row");
    await Promise.all([other.end(), session.end(), store.close()]);
    assert.equal(await deadlocks(), 0);
  });

  /** Returns the number of deadlocks. Each server process reports its count when it ends. */
  async function deadlocks(): Promise<number | undefined> {
    const there = "select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
    while ((await database.query(there)).length > 0);
    return (
      await database.query<[number]>(
        "select deadlocks::integer from pg_stat_database where datname = current_database()",
      )
    )[0]?.[0];
  }
});

const hotLimit = 100;

/** Makes an entry that conflicts with others: few keys, two tallies. */
function randomEntry(run: RunId, at: number, random: () => number): Entry {
  const key = `key-${Math.floor(random() * 30)}`;
  const puts = random() < 0.6 ? [{ table: "ledger", key, was: null, row: rowJson({ run }) } as const] : [];
  const tally = random() < 0.5 ? "hot" : "warm";
  const charges = random() < 0.5 ? [{ tally, amount: 1, limit: tally === "hot" ? hotLimit : null }] : [];
  return buildEntry({ run, at, puts, charges });
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}
