import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Store } from "../src/core/store.ts";
import type { Clock } from "../src/core/time/clock.ts";
import { driver } from "../src/store/postgres/driver.ts";
import { postgres } from "../src/store/postgres/postgres-store.ts";
import { fakeClock } from "../src/testing/clock.ts";
import { leaseMs } from "../src/testing/store-contract/law.ts";
import { storeContract } from "../src/testing/store-contract.ts";
import { database } from "./postgres/database.ts";
import { poolerTo } from "./postgres/pooler.ts";

const servers = 3;

describe("the Postgres store behind a transaction pooler", () => {
  const made = database();
  const pooler = poolerTo(() => made.url, servers);
  let clock: Clock = fakeClock();
  let store: Store;
  beforeAll(async () => {
    store = await postgres(pooler.url, { clock: { now: () => clock.now() }, leaseMs });
  });
  afterAll(() => store.close());

  const checks = storeContract(async (setting) => {
    await made.empty();
    clock = setting.clock;
    return { ...store, close: async () => {} };
  });
  for (const { title, check } of checks) it(title, check);

  it("leaves no tenant, no haste and no transaction on a connection", async () => {
    const client = new (driver().Client)({
      connectionString: pooler.url,
      application_name: "test",
      connectionTimeoutMillis: 10_000,
      keepAlive: true,
    });
    await client.connect();
    const text = "select current_setting('writ.tenant', true), current_setting('synchronous_commit'), pg_backend_pid()";
    const found = new Map<number, string>();
    // The store may ask something in between, and have the next in turn for itself.
    while (found.size < servers) {
      const { rows } = await client.query<readonly [string | null, string, number]>({ text, rowMode: "array" });
      for (const [tenant, sync, backend] of rows) found.set(backend, `${tenant ?? ""} ${sync}`);
    }
    await client.end();
    expect([...found.values()]).toEqual(Array.from({ length: servers }, () => " on"));
  });
});
