import { describe, expect, it } from "vitest";
import type { Engine, RunHandle } from "../../src/engine/api/engine-api.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { collectJournal, deferred, scriptedTool } from "./scripted-tool.ts";

const counts = defineSlice({ name: "counts", shape: "map", entry: { type: "integer" } });
const diary = defineSlice({ name: "diary", shape: "list", policy: "log", entry: { type: "string" } });
const slices = [counts, diary];
const project = "garden";
const one = (name: string) => ({ steps: [{ step_id: "a", name }] });

/** Reads the one number that all of them want to raise, thinks for as long as it is told, and raises it. */
const adder = (think: () => Promise<unknown> = async () => {}) =>
  scriptedTool(
    "add",
    async ({ context: { slice } }) => {
      const count = slice(counts).get("n") ?? 0;
      slice(diary).append("added");
      await think();
      slice(counts).set("n", (count as number) + 1);
      return { ok: true };
    },
    { effect: "writes" },
  );

const aTurn = () => new Promise((resolve) => setImmediate(resolve));

function submitted(engine: Engine, many: number): Promise<readonly RunHandle[]> {
  return Promise.all(Array.from({ length: many }, () => engine.submit(one("add"), { principal: botAgent, project })));
}

async function allDone(stage: EngineFixture, runs: readonly RunHandle[]): Promise<void> {
  for (const run of runs) expect((await stage.runUntilIdle(run)).status).toBe("completed");
}

describe.each(storeKinds)("state contention, on $name", ({ newFixture: newStage }) => {
  it("reruns each conflicting call once, and only published states are versions", async () => {
    const stage = newStage();
    const add = adder(aTurn);
    const engine = await stage.open({ tools: [add.tool], slices });
    await allDone(stage, await submitted(engine, 60));
    const state = await engine.state({ principal: botAgent, project });
    expect(state.slice(counts).get("n")).toBe(60);
    expect(add.calls.length).toBeGreaterThan(60);
    expect(add.calls.length).toBeLessThanOrEqual(2 * 60);
    expect([state.version, state.slice(diary).size]).toEqual([60, 60]);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("reruns each step of one plan once, though more begin than the concurrency limit", async () => {
    const stage = newStage();
    const add = adder(aTurn);
    const engine = await stage.open({ tools: [add.tool], slices, limits: { concurrency: 8 } });
    const steps = Array.from({ length: 80 }, (_, n) => ({ step_id: `s${n}`, name: "add" }));
    await allDone(stage, [await engine.submit({ steps }, { principal: botAgent, project })]);
    expect((await engine.state({ principal: botAgent, project })).slice(counts).get("n")).toBe(80);
    expect(add.calls.length).toBeLessThanOrEqual(3 * 80);
  });

  it("does not delay calls of another project or without a project", async () => {
    const stage = newStage();
    const add = adder(aTurn);
    const engine = await stage.open({ tools: [add.tool], slices, limits: { concurrency: 2 } });
    const here = await submitted(engine, 10);
    const there = await engine.submit(one("add"), { principal: botAgent, project: "orchard" });
    await allDone(stage, [...here, there]);
    expect((await engine.state({ principal: botAgent, project: "orchard" })).slice(counts).get("n")).toBe(1);
  });

  it("continues when a queued or running call is cancelled", async () => {
    const stage = newStage();
    const begun = deferred<void>();
    const free = deferred<void>();
    // The first four calls read before the first write; the fifth, a repetition, waits for `free`.
    const add = adder(() => {
      if (add.calls.length !== 5) return aTurn();
      begun.keep();
      return free.promise;
    });
    const engine = await stage.open({ tools: [add.tool], slices });
    const runs = await submitted(engine, 4);
    await begun.promise;
    const last = runs.at(-1) as RunHandle;
    await last.cancel({ reason: "not needed" });
    free.keep();
    await allDone(stage, runs.slice(0, -1));
    expect((await last.now()).status).toBe("cancelled");
    expect((await engine.state({ principal: botAgent, project })).slice(counts).get("n")).toBe(3);
  });

  it("continues when the call whose turn it is conflicts again with one outside the queue", async () => {
    const stage = newStage();
    let overtake: () => Promise<unknown> = aTurn;
    // Three calls read before the first write; another call overtakes the repetition of the second.
    const add = adder(() => (add.calls.length === 4 ? overtake() : aTurn()));
    const engine = await stage.open({ tools: [add.tool], slices, dice: () => 0 });
    overtake = () => engine.call("add", {}, { principal: botAgent, project });
    const steps = ["a", "b", "c"].map((step_id) => ({ step_id, name: "add" }));
    await allDone(stage, [await engine.submit({ steps }, { principal: botAgent, project })]);
    expect((await engine.state({ principal: botAgent, project })).slice(counts).get("n")).toBe(4);
  });

  it("keeps log entries of calls that are not rerun", async () => {
    const stage = newStage();
    let overtake: () => Promise<unknown> = async () => {};
    const add = adder(() => (add.calls.length === 1 ? overtake() : aTurn()));
    const engine = await stage.open({ tools: [add.tool], slices });
    overtake = async () => {
      await engine.call("add", {}, { principal: botAgent, project });
      stage.clock.advance(2000); // Its run's time is over, so that it is not tried again.
    };
    const run = await engine.submit(one("add"), { principal: botAgent, project, deadlineMs: 1000 });
    expect((await stage.runUntilIdle(run)).steps.a).toMatchObject({ fault: { code: "STATE_CONFLICT" } });
    expect((await collectJournal(run)).find(({ type }) => type === "step.failed")).toMatchObject({
      state: { version: 2 },
    });
    expect((await engine.state({ principal: botAgent, project })).slice(diary).all()).toEqual(["added", "added"]);
  });
});

describe.each(storeKinds.filter(({ name }) => name !== "SQLite"))(
  "state contention between workers, on $name",
  ({ newFixture: newStage }) => {
    it.each([2, 4])("bounds the number of extra attempts: %i workers", async (workers) => {
      const stage = newStage();
      const add = adder(aTurn);
      const engines: Engine[] = [];
      for (let n = 0; n < workers; n += 1) engines.push(await stage.open({ tools: [add.tool], slices }));
      const runs = await Promise.all(engines.map((engine) => submitted(engine, 60 / workers)));
      await allDone(stage, runs.flat());
      const state = await (engines[0] as Engine).state({ principal: botAgent, project });
      expect([state.version, state.slice(counts).get("n")]).toEqual([60, 60]);
      expect(add.calls.length).toBeLessThanOrEqual((workers + 1) * 60);
    });
  },
);
