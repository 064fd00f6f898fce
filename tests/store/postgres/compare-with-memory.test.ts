import { describe, it } from "vitest";
import { memoryStore } from "../../../src/store/memory/memory-store.ts";
import { postgres } from "../../../src/store/postgres/postgres-store.ts";
import { fakeClock } from "../../../src/testing/fake-clock.ts";
import { assertStoresAgree, startOfTime } from "../compare-stores.ts";
import { dumpPostgres } from "./postgres-dump.ts";
import { testDatabase } from "./test-database.ts";

describe("Postgres compared with memory", () => {
  const database = testDatabase();

  it("answers and holds the same, to the last byte, after every turn", { timeout: 120_000 }, async () => {
    let clock = fakeClock(startOfTime);
    const other = await postgres(database.url, { clock: { now: () => clock.now() }, leaseMs: 2000 });
    await assertStoresAgree(20, async () => {
      await database.empty();
      clock = fakeClock(startOfTime);
      const memory = memoryStore({ clock, leaseMs: 2000 });
      return { memory, other, clock, dump: () => dumpPostgres(database), acts: "one by one", close: async () => {} };
    });
    await other.close();
  });
});
