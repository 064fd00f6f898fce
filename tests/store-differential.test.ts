import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";
import { tables } from "../src/core/rows.ts";
import { memoryStore } from "../src/store/memory/memory-store.ts";
import type { Dump } from "../src/store/memory/tables.ts";
import { connect, type Value } from "../src/store/sqlite/driver.ts";
import { sqlite } from "../src/store/sqlite/sqlite-store.ts";
import { fakeClock } from "../src/testing/clock.ts";
import { assertAlike, start } from "./store-differential.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-differential-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("SQLite beside memory", () => {
  it("answers the same and holds the same, to the last byte, after every turn", { timeout: 60_000 }, async () => {
    let files = 0;
    await assertAlike(120, async () => {
      const file = join(folder, `${files++}.db`);
      const clock = fakeClock(start);
      const other = sqlite(file, { clock, leaseMs: 20 });
      const dump = dumping(file);
      return {
        memory: memoryStore({ clock, leaseMs: 20 }),
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

/** Everything in the file, seen by another connection, in the form of the memory store's dump. */
function dumping(file: string): { now(): Dump; close(): void } {
  const db = connect(file);
  const names = ["event", "head", "tally", "lease", "marker", "blob", ...tables];
  const order: Readonly<Record<string, string>> = { event: "1, 2, 3", marker: "1, 2, 3, 4" };
  const selects = names.map(
    (name) => [name, db.prepare(`select * from ${name} order by ${order[name] ?? "1, 2"}`)] as const,
  );
  const cell = (value: Value) => (value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value);
  return {
    now: () =>
      Object.fromEntries(
        selects.map(([name, select]) => [
          name,
          select.all().map((row) => Object.values(row as Record<string, Value>).map(cell)),
        ]),
      ),
    close: () => db.close(),
  };
}
