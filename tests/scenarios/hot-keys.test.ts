import { describe, expect, it } from "vitest";
import type { Engine, RunHandle } from "../../src/engine/api.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { actor, journalOf, promised } from "./cast.ts";
import { bot, places, type Stage } from "./stage.ts";

const counts = defineSlice({ name: "counts", shape: "map", entry: { type: "integer" } });
const diary = defineSlice({ name: "diary", shape: "list", policy: "log", entry: { type: "string" } });
const slices = [counts, diary];
const project = "garden";
const one = (name: string) => ({ steps: [{ step_id: "a", name }] });

/** Reads the one number that all of them want to raise, thinks for as long as it is told, and raises it. */
const adder = (think: () => Promise<unknown> = async () => {}) =>
  actor(
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
  return Promise.all(Array.from({ length: many }, () => engine.submit(one("add"), { principal: bot, project })));
}

async function allDone(stage: Stage, runs: readonly RunHandle[]): Promise<void> {
  for (const run of runs) expect((await stage.rest(run)).status).toBe("completed");
}

describe.each(places)("many that want the same, on $name", ({ newStage }) => {
  it("are run again once each, not each time another is done, and only what is published is a version", async () => {
    const stage = newStage();
    const add = adder(aTurn);
    const engine = await stage.open({ tools: [add.tool], slices });
    await allDone(stage, await submitted(engine, 60));
    const state = await engine.state({ principal: bot, project });
    expect(state.slice(counts).get("n")).toBe(60);
    expect(add.calls.length).toBeGreaterThan(60);
    expect(add.calls.length).toBeLessThanOrEqual(2 * 60);
    expect([state.version, state.slice(diary).size]).toEqual([60, 60]);
    expect(await engine.audit({ principal: bot })).toMatchObject({ broken: [] });
  });

  it("are run again as often in one plan of many steps as there are steps, though more begin than there is room for", async () => {
    const stage = newStage();
    const add = adder(aTurn);
    const engine = await stage.open({ tools: [add.tool], slices, limits: { concurrency: 8 } });
    const steps = Array.from({ length: 80 }, (_, n) => ({ step_id: `s${n}`, name: "add" }));
    await allDone(stage, [await engine.submit({ steps }, { principal: bot, project })]);
    expect((await engine.state({ principal: bot, project })).slice(counts).get("n")).toBe(80);
    expect(add.calls.length).toBeLessThanOrEqual(3 * 80);
  });

  it("hold nobody up who is in the line of another project, or in none", async () => {
    const stage = newStage();
    const add = adder(aTurn);
    const engine = await stage.open({ tools: [add.tool], slices, limits: { concurrency: 2 } });
    const here = await submitted(engine, 10);
    const there = await engine.submit(one("add"), { principal: bot, project: "orchard" });
    await allDone(stage, [...here, there]);
    expect((await engine.state({ principal: bot, project: "orchard" })).slice(counts).get("n")).toBe(1);
  });

  it("go on when one that stands in line is cancelled, or is at work when it is", async () => {
    const stage = newStage();
    const begun = promised<void>();
    const free = promised<void>();
    // The first four read before anybody has written; whoever is run again first stays until it is let go.
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
    expect((await engine.state({ principal: bot, project })).slice(counts).get("n")).toBe(3);
  });

  it("go on when one that had its turn is overtaken again, by someone who never stood in line", async () => {
    const stage = newStage();
    let overtake: () => Promise<unknown> = aTurn;
    // Three read before anybody has written; then it is the second's turn, and somebody comes in between.
    const add = adder(() => (add.calls.length === 4 ? overtake() : aTurn()));
    const engine = await stage.open({ tools: [add.tool], slices, dice: () => 0 });
    overtake = () => engine.call("add", {}, { principal: bot, project });
    const steps = ["a", "b", "c"].map((step_id) => ({ step_id, name: "add" }));
    await allDone(stage, [await engine.submit({ steps }, { principal: bot, project })]);
    expect((await engine.state({ principal: bot, project })).slice(counts).get("n")).toBe(4);
  });

  it("leave what they said to logs if they are not run again", async () => {
    const stage = newStage();
    let overtake: () => Promise<unknown> = async () => {};
    const add = adder(() => (add.calls.length === 1 ? overtake() : aTurn()));
    const engine = await stage.open({ tools: [add.tool], slices });
    overtake = async () => {
      await engine.call("add", {}, { principal: bot, project });
      stage.clock.advance(2000); // Its run's time is over, so that it is not tried again.
    };
    const run = await engine.submit(one("add"), { principal: bot, project, deadlineMs: 1000 });
    expect((await stage.rest(run)).steps.a).toMatchObject({ fault: { code: "STATE_CONFLICT" } });
    expect((await journalOf(run)).find(({ type }) => type === "step.failed")).toMatchObject({ state: { version: 2 } });
    expect((await engine.state({ principal: bot, project })).slice(diary).all()).toEqual(["added", "added"]);
  });
});

describe.each(places.filter(({ name }) => name !== "SQLite"))(
  "many workers that want the same, on $name",
  ({ newStage }) => {
    it.each([2, 4])("try at most so many times more than there are calls: %i workers", async (workers) => {
      const stage = newStage();
      const add = adder(aTurn);
      const engines: Engine[] = [];
      for (let n = 0; n < workers; n += 1) engines.push(await stage.open({ tools: [add.tool], slices }));
      const runs = await Promise.all(engines.map((engine) => submitted(engine, 60 / workers)));
      await allDone(stage, runs.flat());
      const state = await (engines[0] as Engine).state({ principal: bot, project });
      expect([state.version, state.slice(counts).get("n")]).toEqual([60, 60]);
      expect(add.calls.length).toBeLessThanOrEqual((workers + 1) * 60);
    });
  },
);
