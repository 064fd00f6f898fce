import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Clock } from "../../../src/core/ports/clock.ts";
import type { Store } from "../../../src/core/store/store.ts";
import { loadPgDriver } from "../../../src/store/postgres/pg-driver.ts";
import { postgres } from "../../../src/store/postgres/postgres-store.ts";
import { fakeClock } from "../../../src/testing/fake-clock.ts";
import { contractLeaseMs } from "../../../src/testing/store-contract/contract-rule.ts";
import { storeContract } from "../../../src/testing/store-contract/store-contract.ts";
import { testDatabase } from "./test-database.ts";
import { startTransactionPooler } from "./transaction-pooler.ts";

const servers = 3;

describe("Postgres store behind a transaction pooler", () => {
  const database = testDatabase();
  const pooler = startTransactionPooler(() => database.url, servers);
  let clock: Clock = fakeClock();
  let store: Store;
  beforeAll(async () => {
    store = await postgres(pooler.url, { clock: { now: () => clock.now() }, leaseMs: contractLeaseMs });
  });
  afterAll(() => store.close());

  const checks = storeContract(async (setting) => {
    await database.empty();
    clock = setting.clock;
    return { ...store, close: async () => {} };
  });
  for (const { title, check } of checks) it(title, check);

  it("leaves no tenant, setting or transaction on a connection", async () => {
    const client = new (loadPgDriver().Client)({
      connectionString: pooler.url,
      application_name: "test",
      connectionTimeoutMillis: 10_000,
      keepAlive: true,
    });
    await client.connect();
    const text = "select current_setting('writ.tenant', true), current_setting('synchronous_commit'), pg_backend_pid()";
    const found = new Map<number, string>();
    // The store may send a query in between and use the next connection.
    while (found.size < servers) {
      const { rows } = await client.query<readonly [string | null, string, number]>({ text, rowMode: "array" });
      for (const [tenant, sync, backend] of rows) found.set(backend, `${tenant ?? ""} ${sync}`);
    }
    await client.end();
    expect([...found.values()]).toEqual(Array.from({ length: servers }, () => " on"));
  });
});
