import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";
import { memoryStore } from "../src/store/memory/memory-store.ts";
import { sqlite } from "../src/store/sqlite/sqlite-store.ts";
import { fakeClock } from "../src/testing/clock.ts";
import { dumping } from "./sqlite-dump.ts";
import { assertAlike, start } from "./store-differential.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-differential-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("SQLite beside memory", () => {
  it("answers the same and holds the same, to the last byte, after every turn", { timeout: 60_000 }, async () => {
    let files = 0;
    await assertAlike(60, async () => {
      const file = join(folder, `${files++}.db`);
      const clock = fakeClock(start);
      const other = sqlite(file, { clock, leaseMs: 2000 });
      const dump = dumping(file);
      return {
        memory: memoryStore({ clock, leaseMs: 2000 }),
        other,
        clock,
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
