import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Timers } from "../src/core/clock.ts";
import type { Store } from "../src/core/store.ts";
import { createEngine } from "../src/engine/engine.ts";
import { memoryStore } from "../src/store/memory/memory-store.ts";
import { postgres } from "../src/store/postgres/postgres-store.ts";
import { sqlite } from "../src/store/sqlite/sqlite-store.ts";
import { fakeClock } from "../src/testing/clock.ts";
import { manualTimers } from "../src/testing/timers.ts";
import { database } from "./postgres/database.ts";
import { actor, faultOf, hang } from "./scenarios/cast.ts";
import { bot } from "./scenarios/stage.ts";

const made = database();

/** What a dead process waits with. */
const dead: Timers = { after: () => () => {} };

function file(): string {
  const folder = mkdtempSync(join(tmpdir(), "writ-leases-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "writ.db");
}

const stores: readonly { readonly name: string; open(leaseMs?: number): Promise<Store> }[] = [
  { name: "memory", open: async (leaseMs) => memoryStore(leaseMs === undefined ? {} : { leaseMs }) },
  { name: "SQLite", open: async (leaseMs) => sqlite(file(), leaseMs === undefined ? {} : { leaseMs }) },
  { name: "Postgres", open: (leaseMs) => postgres(made.url, leaseMs === undefined ? {} : { leaseMs }) },
];

describe.each(stores)("a lease, on $name", ({ open }) => {
  it("lasts 15 seconds unless said, and as long as was said", async () => {
    const [usual, short] = [await open(), await open(1000)];
    onTestFinished(async () => void (await Promise.all([usual.close(), short.close()])));
    expect([usual.leaseMs, short.leaseMs]).toEqual([15_000, 1000]);
  });

  it.each([0, 999, 1000.5, 3_600_001, Number.NaN])("of %s ms is refused, with what would do", async (leaseMs) => {
    const { code, message } = await faultOf(open(leaseMs));
    expect({ code, message }).toEqual({
      code: "CONFIG_INVALID",
      message: "the store was not opened: leaseMs must be a whole number of milliseconds, 1000 to 3600000",
    });
  });
});

describe.each([1000, 15_000])("runs under a lease of %s ms", (leaseMs) => {
  const setting = async (timersOfFirst: "dead" | "alive") => {
    const clock = fakeClock();
    const timers = manualTimers(clock);
    const store = memoryStore({ clock, leaseMs });
    const look = actor("look", hang, { effect: "reads", timeoutMs: 3_600_000 });
    const options = { store, dice: () => 0.999, tools: [look.tool] };
    const first = await createEngine({ ...options, timers: timersOfFirst === "dead" ? dead : timers });
    await first.submit({ steps: [{ step_id: "look", name: "look" }] }, { principal: bot });
    await createEngine({ ...options, timers });
    return { timers, calls: look.calls };
  };

  it("are taken over within two seconds after the lease of a dead worker is over, and not before", async () => {
    const { timers, calls } = await setting("dead");
    await timers.pass(leaseMs - 1);
    expect(calls).toHaveLength(1);
    await timers.pass(2001);
    expect(calls).toHaveLength(2);
  });

  it("stay with a worker that lives", async () => {
    const { timers, calls } = await setting("alive");
    await timers.pass(leaseMs * 10);
    expect(calls).toHaveLength(1);
  });
});
