import { afterAll, beforeAll, describe, it } from "vitest";
import type { Clock } from "../../../src/core/ports/clock.ts";
import type { Store } from "../../../src/core/store/store.ts";
import { postgres } from "../../../src/store/postgres/postgres-store.ts";
import { fakeClock } from "../../../src/testing/fake-clock.ts";
import { contractLeaseMs } from "../../../src/testing/store-contract/contract-rule.ts";
import { storeContract } from "../../../src/testing/store-contract/store-contract.ts";
import { testDatabase } from "./test-database.ts";

describe("Postgres store", () => {
  const database = testDatabase();
  let clock: Clock = fakeClock();
  let store: Store;
  beforeAll(async () => {
    store = await postgres(database.url, { clock: { now: () => clock.now() }, leaseMs: contractLeaseMs });
  });
  afterAll(() => store.close());

  // All checks share one store, because connections cost more than the checks. Each check starts with empty tables and
  // its own clock.
  const checks = storeContract(async (setting) => {
    await database.empty();
    clock = setting.clock;
    return { ...store, close: async () => {} };
  });
  for (const { title, check } of checks) it(title, check);
});
