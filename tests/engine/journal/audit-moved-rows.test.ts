import { describe, expect, it } from "vitest";
import type { Store } from "../../../src/core/store/store.ts";
import { createEngine } from "../../../src/engine/engine.ts";
import { type MemoryStore, memoryStore } from "../../../src/store/memory/memory-store.ts";
import { fakeClock } from "../../../src/testing/fake-clock.ts";
import { manualTimers } from "../../../src/testing/manual-timers.ts";
import { anaPerson, botAgent } from "../engine-fixture.ts";

const waits = { steps: [{ step_id: "w", kind: "wait", payload: { signal: "go" } }] };

/** Runs that wait for one signal, so that its row goes from journal to journal as they are told. */
async function waiting(runs: number) {
  const clock = fakeClock();
  const memory = memoryStore({ clock });
  const timers = manualTimers(clock);
  const engine = await createEngine({ store: memory, timers, dice: () => 0.5, tools: [] });
  const handles = [];
  for (let run = 0; run < runs; run += 1) handles.push(await engine.submit(waits, { principal: botAgent }));
  await timers.pass(100);
  const tell = () => engine.signal("go", 1, { principal: botAgent });
  const auditOf = async (store: Store) =>
    (await createEngine({ store, timers, tools: [], work: false })).audit({ principal: anaPerson });
  return { memory, handles, tell, auditOf };
}

/** The store, with something that happens before it answers for the events of a run. */
function interrupted(memory: MemoryStore, before: (run: string) => Promise<unknown>): Store {
  return {
    ...memory,
    journals: async (tenant, after, most) => {
      for (const run of await memory.runs(tenant, after, most)) await before(run);
      return memory.journals(tenant, after, most);
    },
    events: async (tenant, run, ...range) => {
      await before(run);
      return memory.events(tenant, run, ...range);
    },
  };
}

describe("row that moved to another journal", () => {
  it("matches its last owner, also while the owner appends", async () => {
    const { memory, tell, auditOf } = await waiting(1);
    await tell();
    await tell(); // No step waits for this signal, so the row belongs to the signal box.
    let told = 0;
    const store = interrupted(memory, async (run) => {
      if (!run.startsWith("sig_") || told === 2) return;
      told += 1;
      await tell();
    });
    expect((await auditOf(store)).broken).toEqual([]);
    expect(told).toBe(2);
  });

  it("reads the last owner's journal once, for any number of earlier owners", async () => {
    const { memory, handles, tell, auditOf } = await waiting(30);
    for (const _ of handles) await tell();
    const read = new Map<string, number>();
    const store = interrupted(memory, async (run) => read.set(run, (read.get(run) ?? 0) + 1));
    expect((await auditOf(store)).broken).toEqual([]);
    expect(read.size).toBe(30);
    expect([...read.values()].reduce((sum, times) => sum + times, 0)).toBeLessThanOrEqual(30 + 2);
  });

  it("is reported as broken when its owner contradicts it", async () => {
    const { memory, handles, tell, auditOf } = await waiting(3);
    await tell();
    const row: Store["row"] = async (tenant, table, key) => {
      const found = await memory.row(tenant, table, key);
      return found === null || table !== "signal"
        ? found
        : { ...found, row: found.row.replace('"taken":0', '"taken":9') };
    };
    expect((await auditOf({ ...memory, row })).broken).toHaveLength(handles.length);
  });
});
