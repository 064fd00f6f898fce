import { describe, expect, it, onTestFinished } from "vitest";
import type { Store } from "../../../src/core/store/store.ts";
import { postgres } from "../../../src/store/postgres/postgres-store.ts";
import { claimRun, runA, runB, tenantA, workerA, workerB } from "../../../src/testing/store-contract/contract-rule.ts";
import { testDatabase } from "./test-database.ts";

const database = testDatabase();

/** Longer than any of these tests. Leases expire only through `expireLeases`. */
const leaseMs = 600_000;

async function openWorker(): Promise<Store> {
  await database.empty();
  const store = await postgres(database.url, { leaseMs });
  onTestFinished(() => store.close());
  await store.registerWorker("ana" as never);
  return store;
}

const expireLeases = () => database.query("update writ.lease set until = 0");
const leaseEnd = async () => (await database.query<readonly [string]>("select until from writ.lease"))[0]?.[0];

/** Returns the server processes whose last query was a renewal. */
const renewingBackends = () =>
  database.query<readonly [number]>(
    "select pid from pg_stat_activity where datname = current_database() and query like '%writ.renew(%' and pid <> pg_backend_pid()",
  );

describe("leases that a worker renews on Postgres", () => {
  it("are renewed on their own connection", async () => {
    const store = await openWorker();
    const claim = await claimRun(store, workerA);
    await expireLeases();
    expect(await store.renew(claim.worker, [claim])).toEqual([]);
    expect(Number(await leaseEnd())).toBeGreaterThan(0);
    const [backend] = await renewingBackends();
    await store.nextDue();
    await Promise.all(Array.from({ length: 10 }, () => store.head(tenantA, runA)));
    expect(await renewingBackends()).toEqual([backend]);
  });

  it("are reported lost only if another worker has the run", async () => {
    const store = await openWorker();
    const [held, lost] = [await claimRun(store, workerA), await claimRun(store, workerA, runB)];
    await database.query(`update writ.lease set until = 0 where run = '${runB}'`);
    await claimRun(store, workerB, runB);
    expect(await store.renew(lost.worker, [lost, held])).toEqual([lost]);
    expect(await store.renew(lost.worker, [])).toEqual([]);
  });

  it("are renewed again after a broken connection", async () => {
    const store = await openWorker();
    const claim = await claimRun(store, workerA);
    await store.renew(claim.worker, [claim]);
    await expireLeases();
    await database.query(`select pg_terminate_backend(${(await renewingBackends())[0]?.[0]})`);
    expect(await store.renew(claim.worker, [claim])).toEqual([]);
    expect(Number(await leaseEnd())).toBeGreaterThan(0);
  });
});
