import { describe, expect, it, onTestFinished } from "vitest";
import type { Store } from "../src/core/store.ts";
import { postgres } from "../src/store/postgres/postgres-store.ts";
import { acme, ana, bob, claimed, hire, order } from "../src/testing/store-contract/law.ts";
import { database } from "./postgres/database.ts";

const made = database();

/** Longer than any of these tests takes: what lets a lease run out is said. */
const leaseMs = 600_000;

async function worker(): Promise<Store> {
  await made.empty();
  const store = await postgres(made.url, { leaseMs });
  onTestFinished(() => store.close());
  await store.lockWorker();
  return store;
}

const runOut = () => made.query("update writ.lease set until = 0");
const until = async () => (await made.query<readonly [string]>("select until from writ.lease"))[0]?.[0];

/** The connections on which somebody renews, and nothing else. */
const backends = () =>
  made.query<readonly [number]>(
    "select pid from pg_stat_activity where datname = current_database() and query like '%writ.renew(%' and pid <> pg_backend_pid()",
  );

describe("leases on Postgres that a worker renews", () => {
  it("are renewed on a connection of their own", async () => {
    const store = await worker();
    const claim = await claimed(store, ana);
    await runOut();
    expect(await store.renew([claim])).toEqual([]);
    expect(Number(await until())).toBeGreaterThan(0);
    const [backend] = await backends();
    await store.nextDue();
    await Promise.all(Array.from({ length: 10 }, () => store.head(acme, hire)));
    expect(await backends()).toEqual([backend]);
  });

  it("are told to be lost when another has the run, and only those", async () => {
    const store = await worker();
    const [kept, lost] = [await claimed(store, ana), await claimed(store, ana, order)];
    await made.query(`update writ.lease set until = 0 where run = '${order}'`);
    await claimed(store, bob, order);
    expect(await store.renew([lost, kept])).toEqual([lost]);
    expect(await store.renew([])).toEqual([]);
  });

  it("are renewed again after the connection broke", async () => {
    const store = await worker();
    const claim = await claimed(store, ana);
    await store.renew([claim]);
    await runOut();
    await made.query(`select pg_terminate_backend(${(await backends())[0]?.[0]})`);
    expect(await store.renew([claim])).toEqual([]);
    expect(Number(await until())).toBeGreaterThan(0);
  });
});
