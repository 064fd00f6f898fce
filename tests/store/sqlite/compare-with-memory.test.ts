import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";
import { memoryStore } from "../../../src/store/memory/memory-store.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite-store.ts";
import { fakeClock } from "../../../src/testing/fake-clock.ts";
import { assertStoresAgree, startOfTime } from "../compare-stores.ts";
import { evictFrom } from "./evict-from.ts";
import { openSqliteDump } from "./sqlite-dump.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-differential-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("SQLite compared with memory", () => {
  it("answers and holds the same, to the last byte, after every turn", { timeout: 60_000 }, async () => {
    let files = 0;
    await assertStoresAgree(60, async () => {
      const file = join(folder, `${files++}.db`);
      const clock = fakeClock(startOfTime);
      const other = openSqlite(file, { clock, leaseMs: 2000 });
      const dump = openSqliteDump(file);
      return {
        memory: memoryStore({ clock, leaseMs: 2000, leasesEnd: "by_eviction" }),
        other,
        clock,
        evict: (worker) => evictFrom(file, worker),
        dump: dump.now,
        acts: "at once",
        close: async () => {
          dump.close();
          await other.close();
        },
      };
    });
  });
});
