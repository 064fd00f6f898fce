import { describe, expect, it } from "vitest";
import type { Entry, Store } from "../../src/core/store/store.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { memoryStore } from "../../src/store/memory/memory-store.ts";
import { botAgent } from "./engine-fixture.ts";
import { mailTool, openChat, reads, searchTool } from "./open-run-fixture.ts";
import { deferred, scriptedTool } from "./scripted-tool.ts";

/** A store that records the entries that it appends. */
function recordingStore(): { readonly store: Store; readonly entries: Entry[] } {
  const real = memoryStore({});
  const entries: Entry[] = [];
  const append: Store["append"] = (given) => {
    entries.push(...given);
    return real.append(given);
  };
  return { store: { ...real, append }, entries };
}

const summary = ({ events, puts, flush }: Entry) => [
  events.map(({ type }) => type),
  puts.map(({ table }) => table),
  flush,
];

async function openedOn(tools: readonly ReturnType<typeof searchTool>[]) {
  const { store, entries } = recordingStore();
  const engine = await createEngine({
    store,
    tools: tools.map(({ tool }) => tool),
    tenants: { acme: { mode: "auto_exec" } },
  });
  const run = await openChat(engine);
  return { engine, run, entries };
}

describe("R11: the appends of an open run", () => {
  it("sync an answer before it is told, and write no row of the run or its timer after the first call", async () => {
    const { engine, run, entries } = await openedOn([searchTool(), mailTool()]);
    await run.callTool({ id: "1", tool: "search", input: {} });
    expect(entries.map(summary)).toEqual([
      [["run.accepted"], ["request", "run", "timer"], "hard"],
      [["step.proposed"], ["timer"], "soft"],
      [["step.succeeded"], [], "hard"],
    ]);
    entries.splice(0);
    await run.callTool({ id: "2", tool: "search", input: {} });
    await run.callTool({ id: "3", tool: "mail", input: {} });
    expect(entries.map(summary)).toEqual([
      [["step.proposed"], [], "soft"],
      [["step.succeeded"], [], "hard"],
      [["step.proposed"], [], "soft"],
      [["step.started"], ["ledger"], "hard"],
      [["step.succeeded"], ["ledger"], "hard"],
    ]);
    await engine.close();
  });

  it("do not sync a delivery: without its record, an equal question gets the same answer", async () => {
    const { engine, run, entries } = await openedOn([mailTool()]);
    await run.callTool({ id: "1", tool: "mail", input: {} });
    entries.splice(0);
    await run.markDelivered("1", { to: "editor" });
    expect(entries.map(summary)).toEqual([[["step.delivered"], [], "soft"]]);
    await engine.close();
  });

  it("propose all calls of a turn together, and share the sync of their answers", async () => {
    const slow = deferred<number>();
    const { engine, run, entries } = await openedOn([searchTool(), scriptedTool("slow", () => slow.promise, reads)]);
    entries.splice(0);
    const answering = run.callTools([
      { id: "1", tool: "slow", input: {} },
      { id: "2", tool: "search", input: {} },
      { id: "3", tool: "search", input: {} },
    ]);
    await expect.poll(() => entries.length).toBe(2);
    // While a call of the turn runs, no answer of the turn is told, so none is synced.
    let told = false;
    void run.findCall("2").then(() => {
      told = true;
    });
    await new Promise(setImmediate);
    expect(told).toBe(false);
    slow.keep(1);
    await answering;
    expect(entries.map(summary)).toEqual([
      [["step.proposed", "step.proposed", "step.proposed"], ["timer"], "soft"],
      [["step.succeeded", "step.succeeded"], [], "soft"],
      [["step.succeeded"], [], "hard"],
    ]);
    await engine.close();
  });

  it("sync the answer of a call though a call beside it runs", async () => {
    const slow = deferred<number>();
    const { engine, run, entries } = await openedOn([searchTool(), scriptedTool("slow", () => slow.promise, reads)]);
    const waiting = run.callTool({ id: "1", tool: "slow", input: {} });
    await run.callTool({ id: "2", tool: "search", input: {} });
    expect(entries.at(-1)).toMatchObject({ flush: "hard" });
    slow.keep(1);
    await waiting;
    await engine.close();
  });

  it("do not grow with the number of calls", async () => {
    const { engine, run, entries } = await openedOn([searchTool()]);
    const sizes: number[] = [];
    for (let call = 0; call < 300; call += 1) {
      entries.splice(0);
      await run.callTool({ id: `call ${call}`, tool: "search", input: {} });
      sizes.push(entries.reduce((sum, { puts, events }) => sum + puts.length + events.length, 0));
    }
    expect(new Set(sizes.slice(1))).toEqual(new Set([2]));
    const { steps } = await (await engine.run(run.run_id, { principal: botAgent })).result();
    expect(Object.keys(steps).length).toBe(300);
    await engine.close();
  });
});
