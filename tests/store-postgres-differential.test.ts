import { describe, it } from "vitest";
import { memoryStore } from "../src/store/memory/memory-store.ts";
import { postgres } from "../src/store/postgres/postgres-store.ts";
import { fakeClock } from "../src/testing/clock.ts";
import { database } from "./postgres/database.ts";
import { dumpOf } from "./postgres/dump.ts";
import { assertAlike, start } from "./store-differential.ts";

describe("Postgres beside memory", () => {
  const made = database();

  it("answers the same and holds the same, to the last byte, after every turn", { timeout: 120_000 }, async () => {
    let clock = fakeClock(start);
    const other = await postgres(made.url, { clock: { now: () => clock.now() }, leaseMs: 2000 });
    await assertAlike(20, async () => {
      await made.empty();
      clock = fakeClock(start);
      const memory = memoryStore({ clock, leaseMs: 2000 });
      return { memory, other, clock, dump: () => dumpOf(made), acts: "one by one", close: async () => {} };
    });
    await other.close();
  });
});
