import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/store/store.ts";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { collectEvents, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const beds = defineSlice({ name: "beds", shape: "map", entry: { type: "integer" } });
const diary = defineSlice({ name: "diary", shape: "list", policy: "log", entry: { type: "string" } });
const slices = [beds, diary];
const at = { principal: botAgent, project: "garden" };
const limits = { snapshotVersions: 10, checkpoints: 25 };

const sow = scriptedTool(
  "sow",
  ({ input, context: { slice } }) => {
    slice(beds).set(`bed ${Number(input.n) % 7}/a.b`, Number(input.n));
    if (Number(input.n) % 5 === 0) slice(beds).delete("bed 3/a.b");
    slice(diary).append(`sown ${String(input.n)}`);
    return { ok: true };
  },
  { effect: "writes" },
);

/** Computes the expected state after this number of calls. */
function expected(many: number): object {
  const kept = new Map<string, number>();
  for (let n = 1; n <= many; n += 1) {
    kept.set(`bed ${n % 7}/a.b`, n);
    if (n % 5 === 0) kept.delete("bed 3/a.b");
  }
  const said = Array.from({ length: many }, (_, index) => `sown ${index + 1}`);
  return { beds: [...kept].sort(([left], [right]) => (left < right ? -1 : 1)), diary: said };
}

async function sown(stage: EngineFixture, many: number, from = 1): Promise<Engine> {
  const engine = await stage.open({ tools: [sow.tool], slices, limits });
  for (let n = from; n < from + many; n += 1) {
    await engine.call("sow", { n }, at);
    stage.clock.advance(1000);
  }
  return engine;
}

async function seen(engine: Engine, when: { readonly version?: number; readonly at?: number } = {}): Promise<object> {
  const state = await engine.state({ ...at, ...when });
  return { beds: state.slice(beds).all(), diary: state.slice(diary).all() };
}

/** The same store, and how often it is asked for what tells state. */
function counting(
  store: Store,
  blob: Store["blob"] = store.blob,
): Store & { readonly asked: { events: number; blobs: number } } {
  const asked = { events: 0, blobs: 0 };
  return {
    ...store,
    asked,
    events: (...given) => {
      asked.events += 1;
      return store.events(...given);
    },
    blob: (...given) => {
      asked.blobs += 1;
      return blob(...given);
    },
  };
}

describe.each(storeKinds)("state with many versions, on $name", ({ newFixture: newStage }) => {
  it("is read by a new worker from a snapshot, not from one event per version", async () => {
    const stage = newStage();
    await sown(stage, 150);
    await stage.crash();
    const store = counting(stage.store());
    const cold = await stage.open({ store, tools: [sow.tool], slices, limits, work: false });
    expect(await seen(cold)).toEqual(expected(150));
    expect(store.asked.events).toBeLessThanOrEqual(2 * limits.snapshotVersions);
    expect(store.asked.blobs).toBeLessThanOrEqual(150 / limits.snapshotVersions + 2);
    expect((await cold.checkpoints.list(at)).map(({ version }) => version)).toEqual(
      Array.from({ length: limits.checkpoints }, (_, index) => 126 + index),
    );
    expect(await cold.audit({ principal: anaPerson })).toMatchObject({ broken: [], tallies: [] });
  });

  it("can be read at any version and time, by any process", async () => {
    const stage = newStage();
    const begun = stage.clock.now();
    await sown(stage, 45);
    await stage.crash();
    const engine = await stage.open({ tools: [sow.tool], slices, limits });
    for (let version = 0; version <= 45; version += 1) {
      expect(await seen(engine, { version })).toEqual(expected(version));
      expect(await seen(engine, { at: begun + 1000 * version - 1 })).toEqual(expected(version));
    }
    const state = await engine.state({ ...at, version: 30 });
    expect([state.version, state.at]).toEqual([30, begun + 29_000]);
    expect((await engine.state({ ...at, at: 0 })).at).toBeNull();
    expect(Object.keys(state.all())).toEqual(["beds", "diary"]);
  });

  it("has only existing versions, and is queried by a number or a time", async () => {
    const stage = newStage();
    const engine = await sown(stage, 3);
    expect(await rejectedFault(engine.state({ ...at, version: 4 }))).toMatchObject({ code: "CHECKPOINT_NOT_FOUND" });
    expect(await rejectedFault(engine.state({ ...at, version: -1 }))).toMatchObject({ code: "INVALID_INPUT" });
    expect(await rejectedFault(engine.state({ ...at, at: 1.5 }))).toMatchObject({ code: "INVALID_INPUT" });
    expect(await rejectedFault(engine.state({ ...at, version: 1, at: 1 }))).toMatchObject({ code: "INVALID_INPUT" });
  });

  it.each([
    ["gone", async (): Promise<Uint8Array | null> => null],
    [
      "changed",
      async (): Promise<Uint8Array | null> => Buffer.from(`{"form":"writ/kept/v1","upon":null,"told":[],"slices":[]}`),
    ],
  ] as const)("is rebuilt from events when its snapshot is %s", async (how, blob) => {
    const stage = newStage();
    await sown(stage, 35);
    await stage.crash();
    const cold = await stage.open({
      store: counting(stage.store(), blob),
      tools: [sow.tool],
      slices,
      limits,
      work: false,
    });
    expect(await seen(cold)).toEqual(expected(35));
    expect(await seen(cold, { version: 4 })).toEqual(expected(4));
    const { broken } = await cold.audit({ principal: anaPerson });
    if (how === "gone") expect(broken).toEqual([]);
    else expect(broken[0]).toMatchObject({ what: expect.stringContaining("was changed") });
  });

  it("loses old snapshots to retention, and no version", async () => {
    const stage = newStage();
    const engine = await sown(stage, 90);
    const { snapshots } = await engine.retain({ principal: anaPerson, endedBefore: stage.clock.now() });
    expect(snapshots).toBeGreaterThan(3);
    expect(await engine.retain({ principal: anaPerson, endedBefore: stage.clock.now() })).toMatchObject({
      snapshots: 0,
    });
    await stage.crash();
    const store = counting(stage.store());
    const cold = await stage.open({ store, tools: [sow.tool], slices, limits });
    expect(await seen(cold)).toEqual(expected(90));
    expect(await seen(cold, { version: 8 })).toEqual(expected(8));
    await cold.call("sow", { n: 91 }, at);
    expect(await seen(cold)).toEqual(expected(91));
    expect(await cold.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("loses only its own snapshots to retention: a fork keeps the ones it started with", async () => {
    const stage = newStage();
    const engine = await sown(stage, 49);
    const run = await engine.submit({ steps: [{ step_id: "a", name: "sow", payload: { n: 50 } }] }, at);
    await run.result();
    const forked = await engine.checkpoints.fork(
      { runId: run.run_id, stepId: "a", side: "before" },
      { principal: anaPerson },
    );
    await stage.runUntilIdle(forked);
    await stage.crash();
    const store = stage.store();
    const dropped: (readonly unknown[])[] = [];
    const erase: Store["erase"] = (erasure, hash) => {
      if (erasure.blobs.length > 0) dropped.push(erasure.blobs);
      return store.erase(erasure, hash);
    };
    // As if nothing but the fork were there.
    const list: Store["list"] = async (tenant, query) => {
      const rows = await store.list(tenant, query);
      return query.table === "project" ? rows.filter(({ key }) => key !== "project:garden") : rows;
    };
    const cleaner = await stage.open({ store: { ...store, erase, list }, tools: [sow.tool], slices, limits });
    expect(await cleaner.retain({ principal: anaPerson, endedBefore: stage.clock.now() })).toMatchObject({
      snapshots: 0,
    });
    expect(dropped).toEqual([]);
  });

  it("continues from a new worker's read, and new snapshots follow the old ones", async () => {
    const stage = newStage();
    for (let part = 0; part < 4; part += 1) {
      await sown(stage, 17, 1 + 17 * part);
      await stage.crash();
    }
    const engine = await stage.open({ tools: [sow.tool], slices, limits });
    expect(await seen(engine)).toEqual(expected(68));
    expect(await seen(engine, { version: 20 })).toEqual(expected(20));
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("is the start of a fork, also for a new worker", async () => {
    const stage = newStage();
    const engine = await sown(stage, 33);
    const run = await engine.submit({ steps: [{ step_id: "a", name: "sow", payload: { n: 34 } }] }, at);
    await run.result();
    const forked = await engine.checkpoints.fork(
      { runId: run.run_id, stepId: "a", side: "before" },
      { principal: anaPerson },
    );
    await stage.runUntilIdle(forked);
    await stage.crash();
    const cold = await stage.open({ tools: [sow.tool], slices, limits });
    const state = await cold.state({ principal: botAgent, runId: forked.run_id });
    expect([state.version, { beds: state.slice(beds).all(), diary: state.slice(diary).all() }]).toEqual([
      1,
      expected(34),
    ]);
    const before = await cold.state({ principal: botAgent, runId: forked.run_id, version: 0 });
    expect({ beds: before.slice(beds).all(), diary: before.slice(diary).all() }).toEqual(expected(33));
    expect(await cold.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("records its snapshots", async () => {
    const stage = newStage();
    const engine = await sown(stage, 24);
    const told = [];
    for (const { run_id } of await engine.runs({ principal: botAgent, limit: 100 }))
      for (const { state } of await collectEvents(await engine.run(run_id, { principal: anaPerson }), "step.succeeded"))
        if (state?.kept) told.push(state.kept);
    expect(told.map(({ version }) => version).sort((left, right) => left - right)).toEqual([10, 20]);
  });
});
