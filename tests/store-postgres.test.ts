import { afterAll, beforeAll, describe, it } from "vitest";
import type { Store } from "../src/core/store.ts";
import type { Clock } from "../src/core/time/clock.ts";
import { postgres } from "../src/store/postgres/postgres-store.ts";
import { fakeClock } from "../src/testing/clock.ts";
import { leaseMs } from "../src/testing/store-contract/law.ts";
import { storeContract } from "../src/testing/store-contract.ts";
import { database } from "./postgres/database.ts";

describe("the Postgres store", () => {
  const made = database();
  let clock: Clock = fakeClock();
  let store: Store;
  beforeAll(async () => {
    store = await postgres(made.url, { clock: { now: () => clock.now() }, leaseMs });
  });
  afterAll(() => store.close());

  // One store for all, because connections cost more than the checks; each begins with empty tables and a time of its own.
  const checks = storeContract(async (setting) => {
    await made.empty();
    clock = setting.clock;
    return { ...store, close: async () => {} };
  });
  for (const { title, check } of checks) it(title, check);
});
