import { describe, expect, it } from "vitest";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { deferred, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const at = { principal: botAgent, project: "garden" };
const one = (name: string, payload: object) => ({ steps: [{ step_id: "a", name, payload }] });

const old = defineSlice({ name: "beds", shape: "map", entry: { type: "integer" } });
const oldLog = defineSlice({ name: "diary", shape: "list", policy: "log", entry: { type: "string" } });
const bed = { type: "object", required: ["litres"], properties: { litres: { type: "integer" } } } as const;
const migrations = { "1": (litres: number) => ({ litres }) };
const beds = defineSlice({ name: "beds", version: "2", shape: "map", entry: bed, migrations });
const diary = defineSlice({
  name: "diary",
  version: "2",
  shape: "list",
  policy: "log",
  entry: { type: "object" },
  migrations: { "1": (text: string, index) => ({ text, index }) },
});

const before = scriptedTool(
  "set",
  ({ input, context: { slice } }) => {
    slice(old).set(String(input.bed), Number(input.litres));
    slice(oldLog).append(`set ${String(input.bed)}`);
    return { ok: true };
  },
  { effect: "writes" },
);
const after = scriptedTool(
  "pour",
  ({ input, context: { slice } }) => {
    const litres = Number(slice(beds).get(String(input.bed), "/litres") ?? 0);
    slice(beds).set(String(input.bed), { litres: litres + 1 });
    slice(diary).append({ text: "poured" });
    if (input.fails === true) throw new Error("no");
    return { ok: true };
  },
  { effect: "writes" },
);

describe.each(storeKinds)("slice with a changed declaration, on $name", ({ newFixture: newStage }) => {
  it("is read in the new version, and written so by the first call that changes it", async () => {
    const stage = newStage();
    const first = await stage.open({ tools: [before.tool], slices: [old, oldLog] });
    const early = await first.submit(one("set", { bed: "north", litres: 3 }), at);
    await early.result();
    await first.call("set", { bed: "a/b", litres: 4 }, at);
    await stage.crash();
    const engine = await stage.open({ tools: [after.tool], slices: [beds, diary] });
    const seen = await engine.state(at);
    expect([seen.version, seen.slice(beds).all()]).toEqual([
      2,
      [
        ["a/b", { litres: 4 }],
        ["north", { litres: 3 }],
      ],
    ]);
    expect(seen.slice(diary).all()).toMatchObject([{ text: "set north", index: 0 }, { index: 1 }]);
    expect(seen.all().beds).toMatchObject({ version: "1" });
    await engine.call("pour", { bed: "north" }, at);
    const now = await engine.state(at);
    expect(now.all()).toMatchObject({ beds: { version: "2" }, diary: { version: "2" } });
    expect(now.slice(beds).get("north")).toEqual({ litres: 4 });
    expect(now.snapshot().slices.beds).toMatchObject({ version: "2" });
    // Going back to when it was the other version makes it what that is now.
    await engine.checkpoints.restore({ runId: early.run_id, stepId: "a", side: "after" }, { principal: anaPerson });
    expect((await engine.state(at)).slice(beds).all()).toEqual([["north", { litres: 3 }]]);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("is unchanged when that call fails, logs excepted", async () => {
    const stage = newStage();
    const first = await stage.open({ tools: [before.tool], slices: [old, oldLog] });
    await first.call("set", { bed: "north", litres: 3 }, at);
    await stage.crash();
    const engine = await stage.open({ tools: [after.tool], slices: [beds, diary] });
    await (await engine.submit(one("pour", { bed: "north", fails: true }), at)).result();
    const now = (await engine.state(at)).all();
    expect(now).toMatchObject({ beds: { version: "1", entries: { north: 3 } }, diary: { version: "2" } });
    expect(now.diary?.entries).toEqual([{ text: "set north", index: 0 }, { text: "poured" }]);
  });

  it("keeps log entries of others written during a failing call in the old version", async () => {
    const stage = newStage();
    const first = await stage.open({ tools: [before.tool], slices: [old, oldLog] });
    await first.call("set", { bed: "north", litres: 3 }, at);
    await stage.crash();
    const [began, told] = [deferred<void>(), deferred<void>()];
    const slow = scriptedTool(
      "slow",
      async ({ context }) => {
        context.slice(diary).append({ text: "slow" });
        began.keep();
        await told.promise;
        throw new Error("no");
      },
      { effect: "writes" },
    );
    const engine = await stage.open({ tools: [after.tool, slow.tool], slices: [beds, diary] });
    const failing = await engine.submit(one("slow", {}), at);
    await began.promise;
    await (await engine.submit(one("pour", { bed: "north" }), at)).result();
    told.keep();
    await failing.result();
    const said = (await engine.state(at)).slice(diary).all();
    expect(said).toEqual([{ text: "set north", index: 0 }, { text: "poured" }, { text: "slow" }]);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("accepts a snapshot of the earlier version", async () => {
    const stage = newStage();
    const first = await stage.open({ tools: [before.tool], slices: [old, oldLog] });
    await first.call("set", { bed: "north", litres: 3 }, at);
    const snapshot = JSON.parse(JSON.stringify((await first.state(at)).snapshot()));
    await stage.crash();
    const engine = await stage.open({ tools: [], slices: [beds] });
    await engine.checkpoints.load(snapshot, { principal: botAgent, project: "orchard" });
    expect((await engine.state({ ...at, project: "orchard" })).slice(beds).all()).toEqual([["north", { litres: 3 }]]);
  });

  it.each([
    ["nothing says how", {}, "add a migration of its entries"],
    ["how throws", { "1": () => thrown() }, "entry north cannot be migrated: no"],
    ["what comes of it does not fit", { "1": () => ({}) as never }, "entry north cannot be migrated"],
  ])("is refused, and nothing changes, where %s", async (_, how, why) => {
    const stage = newStage();
    const first = await stage.open({ tools: [before.tool], slices: [old, oldLog] });
    await first.call("set", { bed: "north", litres: 3 }, at);
    await stage.crash();
    const changed = defineSlice({ name: "beds", version: "2", shape: "map", entry: bed, migrations: how });
    const pour = scriptedTool("pour", ({ context: { slice } }) => void slice(changed).set("south", { litres: 1 }), {
      effect: "writes",
    });
    const engine = await stage.open({ tools: [pour.tool], slices: [changed] });
    const run = await engine.submit(one("pour", {}), at);
    expect((await run.result()).steps.a).toMatchObject({
      fault: { code: "SLICE_CHANGED", message: expect.stringContaining(why) },
    });
    expect((await engine.state(at)).version).toBe(1);
  });

  it("names the faulty definition", async () => {
    const wrong = { name: "beds", shape: "map", entry: { type: "nonsense" } } as never;
    expect(await rejectedFault(Promise.resolve().then(() => defineSlice(wrong)))).toMatchObject({
      message: expect.stringContaining("slice beds"),
    });
    const empty = { name: "beds", shape: "map", entry: {}, migrations: { "1": migrations["1"] }, fold: {} } as never;
    expect(await rejectedFault(Promise.resolve().then(() => defineSlice(empty)))).toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringMatching(/slice beds: .*migrations.*fold/),
    });
  });
});

const tank = defineSlice({
  name: "tank",
  shape: "map",
  entry: { type: "integer" },
  reducers: { poured: (slice, { into, litres }: { into: string; litres: number }) => slice.set(into, litres) },
  fold: {
    begin: 0,
    add: (sum, litres) => sum + Number(litres),
    remove: (sum, litres) => sum - Number(litres),
    holds: (sum) => (sum > 10 ? `holds ${sum} l, more than 10` : null),
  },
});

describe.each(storeKinds)("invariant of a slice, on $name", ({ newFixture: newStage }) => {
  const pour = scriptedTool(
    "pour",
    async ({ input, context: { slice } }) => {
      slice(tank).set(String(input.into), Number(input.litres));
      await new Promise((resolve) => setImmediate(resolve));
      return { ok: true };
    },
    { effect: "writes" },
  );

  it("fails the call that breaks it, which leaves nothing", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [pour.tool], slices: [tank] });
    await engine.call("pour", { into: "a", litres: 6 }, at);
    const run = await engine.submit(one("pour", { into: "b", litres: 5 }), at);
    expect((await run.result()).steps.a).toMatchObject({
      state: "failed_final",
      fault: { code: "STATE_INVALID", message: "tank as a whole holds 11 l, more than 10" },
    });
    await engine.call("pour", { into: "a", litres: 5 }, at);
    await engine.call("pour", { into: "b", litres: 5 }, at);
    await stage.crash();
    const cold = await stage.open({ tools: [pour.tool], slices: [tank] });
    const late = await cold.submit(one("pour", { into: "c", litres: 1 }), at);
    expect((await late.result()).steps.a).toMatchObject({ fault: { code: "STATE_INVALID" } });
    expect((await cold.state(at)).slice(tank).all()).toEqual([
      ["a", 5],
      ["b", 5],
    ]);
  });

  it("holds for parallel calls that do not conflict", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [pour.tool], slices: [tank] });
    const runs = await Promise.all(["a", "b", "c"].map((into) => engine.submit(one("pour", { into, litres: 4 }), at)));
    const ends = await Promise.all(runs.map(async (run) => (await run.result()).status));
    expect(ends.sort()).toEqual(["completed", "completed", "failed"]);
    expect((await engine.state(at)).slice(tank).size).toBe(2);
  });

  it("leaves the act recorded when state refuses it", async () => {
    const stage = newStage();
    const act = scriptedTool("act", ({ context: { dispatch } }) => {
      dispatch("poured", { into: "a", litres: 11 });
      return { ok: true };
    });
    const engine = await stage.open({ tools: [act.tool], slices: [tank] });
    const run = await engine.submit(one("act", {}), at);
    expect((await run.result()).steps.a).toMatchObject({ fault: { code: "STATE_AFTER_ACT" } });
    expect((await engine.state(at)).version).toBe(0);
  });
});

function thrown(): never {
  throw new Error("no");
}
