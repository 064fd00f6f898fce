import { describe, expect, it } from "vitest";
import type { Notice } from "../../src/core/event.ts";
import { FaultError, fault } from "../../src/core/fault.ts";
import type { Engine, RunHandle } from "../../src/engine/api.ts";
import { type Actor, actor, eventsOf, faultOf, hang, journalOf } from "./cast.ts";
import { ana, bot, places, type Stage } from "./stage.ts";

const one = (name: string) => ({ steps: [{ step_id: "a", name }] });

/** Opens an engine that takes the run up, and kills its process in the middle of it. */
async function dies(stage: Stage, actors: readonly Actor[], times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    await stage.open({ tools: actors.map(({ tool }) => tool) });
    await stage.pass(100);
    await stage.crash();
  }
}

async function submitted(stage: Stage, actors: readonly Actor[], plan: object): Promise<string> {
  const engine = await stage.open({ tools: actors.map(({ tool }) => tool) });
  const { run_id } = await engine.submit(plan, { principal: bot });
  await stage.pass(100);
  await stage.crash();
  return run_id;
}

async function reopened(stage: Stage, actors: readonly Actor[], run_id: string, told: Notice[] = []) {
  const onNotice = async (notice: Notice) => void told.push(notice);
  const engine: Engine = await stage.open({ tools: actors.map(({ tool }) => tool), onNotice });
  const run: RunHandle = await engine.run(run_id, { principal: ana });
  return { engine, run };
}

describe.each(places)("a run that kills its workers, on $name", ({ newStage }) => {
  it("is parked with its evidence by the third that takes it from a dead one, and someone is told", async () => {
    const stage = newStage();
    const look = actor("look", hang, { effect: "reads" });
    const run_id = await submitted(stage, [look], one("look"));
    await dies(stage, [look], 2);
    expect(look.calls).toHaveLength(3);
    const told: Notice[] = [];
    const { engine, run } = await reopened(stage, [look], run_id, told);
    const result = await stage.rest(run);
    await stage.pass(60_000);
    expect(look.calls).toHaveLength(3);
    expect(result).toMatchObject({ status: "partial", final: false, steps: { a: { state: "ready" } } });
    expect(result.poison?.takeovers).toHaveLength(3);
    for (const { by, from, position, steps } of result.poison?.takeovers ?? []) {
      expect(by).not.toBe(from);
      expect(position).toBeGreaterThan(1);
      expect(steps).toEqual(["a"]);
    }
    expect(told).toMatchObject([{ topic: "run.poisoned", payload: { run_id, takeovers: 3, steps: ["a"] } }]);
    expect(await engine.runs({ principal: ana, status: "poison" })).toMatchObject([{ run_id, final: false }]);
    expect((await engine.audit({ principal: ana })).broken).toEqual([]);
  });

  it("goes on when a person resumes it, and not before", async () => {
    const stage = newStage();
    const look = actor("look", [hang, hang, hang, () => "at last"], { effect: "reads" });
    const run_id = await submitted(stage, [look], one("look"));
    await dies(stage, [look], 2);
    const { engine, run } = await reopened(stage, [look], run_id);
    await stage.rest(run);
    expect(await faultOf(engine.resume(run_id, { principal: bot }))).toMatchObject({ code: "AUTH_FORBIDDEN" });
    await engine.resume(run_id, { principal: ana, reason: "more memory" });
    expect(await stage.rest(run)).toMatchObject({ status: "completed", steps: { a: { output: "at last" } } });
    expect(await run.result()).not.toHaveProperty("poison");
  });

  it("is taken up by whoever is open when it is resumed, though a message about it is still on its way", async () => {
    const stage = newStage();
    const look = actor("look", [hang, hang, hang, () => "at last"], { effect: "reads" });
    const run_id = await submitted(stage, [look], one("look"));
    await dies(stage, [look], 2);
    const engine = await stage.open({ tools: [look.tool], onNotice: () => new Promise(() => {}) });
    const run = await engine.run(run_id, { principal: ana });
    expect(await stage.rest(run)).toMatchObject({ final: false });
    await engine.resume(run_id, { principal: ana });
    expect(await stage.rest(run)).toMatchObject({ status: "completed" });
  });

  it("does not repeat an act on a guess: what was in flight is in doubt, parked or not", async () => {
    const stage = newStage();
    const send = actor("send", hang, { idempotent: { forMs: 3_600_000 } });
    const run_id = await submitted(stage, [send], one("send"));
    await dies(stage, [send], 2);
    const { engine, run } = await reopened(stage, [send], run_id);
    const result = await stage.rest(run);
    expect(result.poison).toBeDefined();
    expect(result.steps.a).toMatchObject({ state: "in_doubt" });
    await stage.pass(10 * 60_000);
    expect(send.calls).toHaveLength(3);
    await engine.resolve(run_id, "a", { principal: ana, as: "happened", output: { id: 1 } });
    expect(await run.result()).toMatchObject({ status: "completed" });
  });

  it("is not blamed for workers that came further with it, nor for those that gave it back", async () => {
    const stage = newStage();
    const steps = ["a", "b", "c", "d", "e"].map((step_id) => ({ step_id, name: "look" }));
    const chain = steps.map((step, at) => (at === 0 ? step : { ...step, depends_on: [steps[at - 1]?.step_id] }));
    const look = actor("look", [() => 1, hang, () => 2, hang, () => 3, hang, () => 4, hang, () => 5, () => 6], {
      effect: "reads",
    });
    const run_id = await submitted(stage, [look], { steps: chain });
    await dies(stage, [look], 3);
    const engine = await stage.open({ tools: [look.tool] });
    const run = await engine.run(run_id, { principal: bot });
    expect(await stage.rest(run)).toMatchObject({ status: "completed" });
    expect(await eventsOf(run, "run.taken")).toHaveLength(4);
    expect((await journalOf(run)).some(({ type }) => type === "run.poisoned")).toBe(false);
  });

  it("is not blamed when a worker takes it from itself, because giving it back had failed", async () => {
    const stage = newStage();
    const send = actor("send", () => 1);
    const store = stage.store();
    const release = () => Promise.reject(new FaultError(fault("STORE_FAILED", "gone fishing")));
    const engine = await stage.open({ tools: [send.tool], store: { ...store, release }, tenants: {} });
    const run = await engine.submit(one("send"), { principal: bot });
    for (const { gate_id } of (await stage.rest(run)).gates) await engine.approve(gate_id, { principal: ana });
    await stage.rest(run);
    expect(await run.now()).toMatchObject({ status: "completed" });
    expect(await eventsOf(run, "run.taken")).toEqual([]);
  });

  it("is parked, too, if one worker cannot go on with it, again and again", async () => {
    const stage = newStage();
    const look = actor("look", hang, { effect: "reads" });
    const run_id = await submitted(stage, [look], one("look"));
    const failpoint = (point: string) => {
      if (point === "recover.after") throw new Error("a bug");
    };
    const engine = await stage.open({ tools: [look.tool], failpoint });
    await stage.pass(60_000);
    expect((await (await engine.run(run_id, { principal: ana })).now()).poison?.takeovers).toHaveLength(3);
  });

  it("is given back by a worker that is closed in good order, however often", async () => {
    const stage = newStage();
    const steps = [
      { step_id: "a", name: "look" },
      { step_id: "b", kind: "wait", payload: { ms: 500 }, depends_on: ["a"] },
    ];
    const look = actor("look", () => 1, { effect: "reads" });
    const first = await stage.open({ tools: [look.tool] });
    const { run_id } = await first.submit({ steps }, { principal: bot });
    await first.close();
    for (let time = 0; time < 4; time += 1) await (await stage.open({ tools: [look.tool] })).close();
    await stage.pass(1000);
    const run = await (await stage.open({ tools: [look.tool] })).run(run_id, { principal: bot });
    expect(await stage.rest(run)).toMatchObject({ status: "completed" });
    expect(await eventsOf(run, "run.taken")).toEqual([]);
  });
});
