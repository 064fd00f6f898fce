import assert from "node:assert/strict";
import { describe, it, onTestFinished } from "vitest";
import type { RunId, WorkerId } from "../src/core/id.ts";
import type { Entry, Store } from "../src/core/store.ts";
import { batchCall, batchOf } from "../src/store/postgres/batch.ts";
import { type PostgresOptions, postgres } from "../src/store/postgres/postgres-store.ts";
import { fakeClock } from "../src/testing/clock.ts";
import {
  acme,
  ana,
  bob,
  claimed,
  dueAt,
  entry,
  globex,
  hire,
  landed,
  row,
  send,
} from "../src/testing/store-contract/law.ts";
import { database } from "./postgres/database.ts";
import { dumpOf } from "./postgres/dump.ts";

const made = database();

async function opened(options: PostgresOptions = {}): Promise<Store> {
  const store = await postgres(made.url, options);
  onTestFinished(() => store.close());
  return store;
}

describe("processes that share a Postgres", () => {
  it("hear of each other's commands, and not of their own", async () => {
    await made.empty();
    const [one, two] = [await opened(), await opened()];
    // The first hint says that it listens; the server knows so a little before.
    const [first, second] = [hintsOf(one), hintsOf(two)];
    await Promise.all([first.heard(1), second.heard(1)]);
    await landed(one, { epoch: null });
    await second.heard(2);
    assert.equal(first.count(), 1);
    await landed(two, { at: 1, epoch: null });
    await first.heard(2);
  });

  it("are told at once of the first of many writes, and of the others together", async () => {
    await made.empty();
    const session = await made.session();
    onTestFinished(() => session.end());
    const told: string[] = [];
    session.on("notification", ({ payload = "" }) => void told.push(payload));
    await session.query("listen writ");
    const store = await postgres(made.url, { timers: { after: () => () => {} } });
    for (let at = 0; at < 5; at += 1) await landed(store, { at });
    await store.close();
    await session.query("select 1"); // What was said before comes before the answer.
    assert.equal(told.length, 2);
    assert.equal(new Set(told).size, 1);
  });

  /** How many hints a store has had. */
  function hintsOf(store: Store): { count(): number; heard(wanted: number): Promise<void> } {
    let count = 0;
    let tell = () => {};
    store.watch(() => {
      count += 1;
      tell();
    });
    const heard = async (wanted: number): Promise<void> => {
      while (count < wanted)
        await new Promise<void>((resolve) => {
          tell = resolve;
        });
    };
    return { count: () => count, heard };
  }

  it("listen again after the connection broke, and take that for a hint", async () => {
    const clock = fakeClock();
    const store = await opened({ timers: clock });
    const hints = hintsOf(store);
    await hints.heard(1);
    await made.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where query = 'listen writ' and datname = current_database()",
    );
    // The server has let go of it a little before the process notices, and only then is there something to wait for.
    while (hints.count() < 2) {
      await listeners();
      clock.advance(60_000);
    }
  });

  async function listeners(): Promise<number> {
    const found =
      "select count(*)::integer from pg_stat_activity where query = 'listen writ' and state = 'idle' and datname = current_database()";
    return (await made.query<[number]>(found))[0]?.[0] ?? 0;
  }

  it("claim every due run once, however many ask at once", async () => {
    await made.empty();
    const stores = await Promise.all([opened(), opened(), opened(), opened()]);
    const runs = Array.from({ length: 120 }, (_, nth) => `run-${nth}` as RunId);
    const due = runs.map((run, nth) =>
      entry({
        run,
        tenant: nth % 2 ? acme : globex,
        puts: [{ table: "timer", key: run, was: "any", row: dueAt(1 + (nth % 7)) }],
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
    const rest = await stores[0]?.claimDue(ana, 200);
    assert.equal(names.length + (rest?.length ?? 0), runs.length);
    assert.ok([...claims, ...(rest ?? [])].every(({ epoch }) => epoch === 1));
  });

  it.each(["claim", "marker"] as const)(
    "leave no gap between a claim and a marker: if the %s is first, the other waits",
    async (first) => {
      await made.empty();
      const clock = fakeClock();
      const store = await opened({ clock, leaseMs: 1000 });
      const late = await claimed(store, ana);
      clock.advance(1000);
      const mark = () => store.mark(late, send, 1);
      const claim = () => store.claim(bob, acme, hire);
      const session = await made.session();
      onTestFinished(() => session.end());
      await session.query(
        first === "claim"
          ? `begin; select writ.claim('${acme}', '${hire}', '${bob}', 1000, ${clock.now()})`
          : `begin; select writ.mark('${acme}', '{${hire}}', '{${late.epoch}}', '{${send}}', '{1}')`,
      );
      const second = first === "claim" ? mark() : claim();
      await blocked(1);
      await session.query("commit");
      // Whoever may call the tool has left a marker that the next holder sees.
      assert.ok(first === "claim" ? (await second) === false : (await second) !== null);
      assert.equal(await store.marked(acme, hire, send, 1, store.boot), first === "claim" ? "no" : "yes");
    },
  );
});

async function blocked(wanted: number): Promise<void> {
  const found = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
  while ((await made.query(found)).length < wanted);
}

describe("many who append at once", () => {
  it("never wait for each other in a circle, and all that is acknowledged is there, once", {
    timeout: 60_000,
  }, async () => {
    await made.empty();
    const stores = await Promise.all([1, 2, 3].map(() => postgres(made.url)));
    const dice = seeded(7);
    const acknowledged: Entry[] = [];
    const one = async (store: Store): Promise<void> => {
      const wishes = Array.from({ length: dice() < 0.3 ? 2 : 1 }, () => `run-${Math.floor(dice() * 12)}` as RunId);
      const entries: Entry[] = [];
      for (const run of wishes) entries.push(anEntry(run, (await store.head(acme, run))?.position ?? 0, dice));
      const answers = await store.append(entries);
      acknowledged.push(...entries.filter((_, nth) => answers[nth]?.landed));
    };
    const worker = async (store: Store): Promise<void> => {
      for (let round = 0; round < 40; round += 1) await Promise.all(Array.from({ length: 6 }, () => one(store)));
    };
    await Promise.all(stores.map(worker));
    await Promise.all(stores.map((store) => store.close()));

    const { event = [], head = [], tally = [], ledger = [] } = await dumpOf(made);
    assert.equal(event.length, acknowledged.length);
    for (const [, run, position] of head) assert.equal(event.filter(([, of]) => of === run).length, position);
    assert.equal(ledger.length, acknowledged.flatMap(({ puts }) => puts).length);
    const charges = acknowledged.flatMap((entry) => entry.charges);
    for (const [, name, used] of tally) assert.equal(used, charges.filter(({ tally }) => tally === name).length);
    assert.ok(charges.filter(({ limit }) => limit !== null).length <= mostHot);
    assert.equal(await deadlocks(), 0);
  });

  it("take new keys after tallies, whether they come alone or together", { timeout: 60_000 }, async () => {
    await made.empty();
    const store = await postgres(made.url);
    const [first, second, third] = ["run-1", "run-2", "run-3"] as [RunId, RunId, RunId];
    for (const run of [first, second, third])
      await landed(store, { run, charges: [{ tally: "hot", amount: 1, limit: null }] });
    const wish = (run: RunId, key: string) =>
      entry({
        run,
        at: 1,
        puts: [{ table: "ledger", key, was: null, row: row({ run }) }],
        charges: [{ tally: "hot", amount: 1, limit: 9 }],
      });
    const [other, session] = [await made.session(), await made.session()];
    await other.query(
      "begin; insert into writ.rows (tenant, kind, key, version, row) values ('acme', 'ledger', 'k-1', 1, '')",
    );
    // The two that come together have the tally and wait for the first of their keys, which the other has not yet given up.
    const { name, values } = batchCall(batchOf([wish(first, "k-1"), wish(second, "k-2")]));
    const numbers = values.map((_, index) => `$${index + 1}`);
    const together = session.query<[object | null]>({
      text: `select writ.${name}(${numbers})`,
      values,
      rowMode: "array",
    });
    await blocked(1);
    // The one that comes alone wants the tally and the second key.
    const alone = store.append([wish(third, "k-2")]);
    await blocked(2);
    await other.query("rollback");
    assert.deepEqual((await together).rows, [[null]]);
    const [lost] = await alone;
    assert.equal(lost?.landed === false && lost.why, "row");
    await Promise.all([other.end(), session.end(), store.close()]);
    assert.equal(await deadlocks(), 0);
  });

  /** Counted by each server process when it ends. */
  async function deadlocks(): Promise<number | undefined> {
    const there = "select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
    while ((await made.query(there)).length > 0);
    return (
      await made.query<[number]>("select deadlocks::integer from pg_stat_database where datname = current_database()")
    )[0]?.[0];
  }
});

const mostHot = 100;

/** One that meets the others: few keys, two tallies, now and then several events. */
function anEntry(run: RunId, at: number, dice: () => number): Entry {
  const key = `key-${Math.floor(dice() * 30)}`;
  const puts = dice() < 0.6 ? [{ table: "ledger", key, was: null, row: row({ run }) } as const] : [];
  const tally = dice() < 0.5 ? "hot" : "warm";
  const charges = dice() < 0.5 ? [{ tally, amount: 1, limit: tally === "hot" ? mostHot : null }] : [];
  return entry({ run, at, puts, charges });
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}
