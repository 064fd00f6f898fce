import { describe, expect, it } from "vitest";
import type { Notice } from "../../src/core/event/event.ts";
import { FaultError, fault } from "../../src/core/values/fault.ts";
import type { Engine, RunHandle } from "../../src/engine/api/engine-api.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import {
  collectEvents,
  collectJournal,
  neverAnswers,
  rejectedFault,
  type ScriptedTool,
  scriptedTool,
} from "./scripted-tool.ts";

const one = (name: string) => ({ steps: [{ step_id: "a", name }] });

/** Opens an engine that takes the run up, and kills its process in the middle of it. */
async function dies(stage: EngineFixture, actors: readonly ScriptedTool[], times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    await stage.open({ tools: actors.map(({ tool }) => tool) });
    await stage.advance(100);
    await stage.crash();
  }
}

async function submitted(stage: EngineFixture, actors: readonly ScriptedTool[], plan: object): Promise<string> {
  const engine = await stage.open({ tools: actors.map(({ tool }) => tool) });
  const { run_id } = await engine.submit(plan, { principal: botAgent });
  await stage.advance(100);
  await stage.crash();
  return run_id;
}

async function reopened(stage: EngineFixture, actors: readonly ScriptedTool[], run_id: string, told: Notice[] = []) {
  const onNotice = async (notice: Notice) => void told.push(notice);
  const engine: Engine = await stage.open({ tools: actors.map(({ tool }) => tool), onNotice });
  const run: RunHandle = await engine.run(run_id, { principal: anaPerson });
  return { engine, run };
}

describe.each(storeKinds)("run that kills its workers, on $name", ({ newFixture: newStage }) => {
  it("is parked as poison with its takeovers by the third worker, and a notice is sent", async () => {
    const stage = newStage();
    const look = scriptedTool("look", neverAnswers, { effect: "reads" });
    const run_id = await submitted(stage, [look], one("look"));
    await dies(stage, [look], 2);
    expect(look.calls).toHaveLength(3);
    const told: Notice[] = [];
    const { engine, run } = await reopened(stage, [look], run_id, told);
    const result = await stage.runUntilIdle(run);
    await stage.advance(60_000);
    expect(look.calls).toHaveLength(3);
    expect(result).toMatchObject({ status: "partial", final: false, steps: { a: { state: "ready" } } });
    expect(result.poison?.takeovers).toHaveLength(3);
    for (const { by, from, position, steps } of result.poison?.takeovers ?? []) {
      expect(by).not.toBe(from);
      expect(position).toBeGreaterThan(1);
      expect(steps).toEqual(["a"]);
    }
    expect(told).toMatchObject([{ topic: "run.poisoned", payload: { run_id, takeovers: 3, steps: ["a"] } }]);
    expect(await engine.runs({ principal: anaPerson, status: "poison" })).toMatchObject([{ run_id, final: false }]);
    expect((await engine.audit({ principal: anaPerson })).broken).toEqual([]);
  });

  it("continues when a person resumes it, and not before", async () => {
    const stage = newStage();
    const look = scriptedTool("look", [neverAnswers, neverAnswers, neverAnswers, () => "at last"], { effect: "reads" });
    const run_id = await submitted(stage, [look], one("look"));
    await dies(stage, [look], 2);
    const { engine, run } = await reopened(stage, [look], run_id);
    await stage.runUntilIdle(run);
    expect(await rejectedFault(engine.resume(run_id, { principal: botAgent }))).toMatchObject({
      code: "AUTH_FORBIDDEN",
    });
    await engine.resume(run_id, { principal: anaPerson, reason: "more memory" });
    expect(await stage.runUntilIdle(run)).toMatchObject({ status: "completed", steps: { a: { output: "at last" } } });
    expect(await run.result()).not.toHaveProperty("poison");
  });

  it("is taken by an open worker when it is resumed, though a signal to it is still undelivered", async () => {
    const stage = newStage();
    const look = scriptedTool("look", [neverAnswers, neverAnswers, neverAnswers, () => "at last"], { effect: "reads" });
    const run_id = await submitted(stage, [look], one("look"));
    await dies(stage, [look], 2);
    const engine = await stage.open({ tools: [look.tool], onNotice: () => new Promise(() => {}) });
    const run = await engine.run(run_id, { principal: anaPerson });
    expect(await stage.runUntilIdle(run)).toMatchObject({ final: false });
    await engine.resume(run_id, { principal: anaPerson });
    expect(await stage.runUntilIdle(run)).toMatchObject({ status: "completed" });
  });

  it("does not repeat an act: running acts are in doubt, parked or not", async () => {
    const stage = newStage();
    const send = scriptedTool("send", neverAnswers, { idempotent: { forMs: 3_600_000 } });
    const run_id = await submitted(stage, [send], one("send"));
    await dies(stage, [send], 2);
    const { engine, run } = await reopened(stage, [send], run_id);
    const result = await stage.runUntilIdle(run);
    expect(result.poison).toBeDefined();
    expect(result.steps.a).toMatchObject({ state: "in_doubt" });
    await stage.advance(10 * 60_000);
    expect(send.calls).toHaveLength(3);
    await engine.resolve(run_id, "a", { principal: anaPerson, as: "happened", output: { id: 1 } });
    expect(await run.result()).toMatchObject({ status: "completed" });
  });

  it("does not count workers that made progress or released it", async () => {
    const stage = newStage();
    const steps = ["a", "b", "c", "d", "e"].map((step_id) => ({ step_id, name: "look" }));
    const chain = steps.map((step, at) => (at === 0 ? step : { ...step, depends_on: [steps[at - 1]?.step_id] }));
    const look = scriptedTool(
      "look",
      [() => 1, neverAnswers, () => 2, neverAnswers, () => 3, neverAnswers, () => 4, neverAnswers, () => 5, () => 6],
      {
        effect: "reads",
      },
    );
    const run_id = await submitted(stage, [look], { steps: chain });
    await dies(stage, [look], 3);
    const engine = await stage.open({ tools: [look.tool] });
    const run = await engine.run(run_id, { principal: botAgent });
    expect(await stage.runUntilIdle(run)).toMatchObject({ status: "completed" });
    expect(await collectEvents(run, "run.taken")).toHaveLength(4);
    expect((await collectJournal(run)).some(({ type }) => type === "run.poisoned")).toBe(false);
  });

  it("does not count a worker that takes it from itself after a failed release", async () => {
    const stage = newStage();
    const send = scriptedTool("send", () => 1);
    const store = stage.store();
    const release = () => Promise.reject(new FaultError(fault("STORE_FAILED", "gone fishing")));
    const engine = await stage.open({ tools: [send.tool], store: { ...store, release }, tenants: {} });
    const run = await engine.submit(one("send"), { principal: botAgent });
    for (const { gate_id } of (await stage.runUntilIdle(run)).gates)
      await engine.approve(gate_id, { principal: anaPerson });
    await stage.runUntilIdle(run);
    expect(await run.now()).toMatchObject({ status: "completed" });
    expect(await collectEvents(run, "run.taken")).toEqual([]);
  });

  it("is parked too if one worker fails to continue it again and again", async () => {
    const stage = newStage();
    const look = scriptedTool("look", neverAnswers, { effect: "reads" });
    const run_id = await submitted(stage, [look], one("look"));
    const failpoint = (point: string) => {
      if (point === "recover.after") throw new Error("a bug");
    };
    const engine = await stage.open({ tools: [look.tool], failpoint });
    await stage.advance(60_000);
    expect((await (await engine.run(run_id, { principal: anaPerson })).now()).poison?.takeovers).toHaveLength(3);
  });

  it("is released by a worker that closes normally, for any number of times", async () => {
    const stage = newStage();
    const steps = [
      { step_id: "a", name: "look" },
      { step_id: "b", kind: "wait", payload: { ms: 500 }, depends_on: ["a"] },
    ];
    const look = scriptedTool("look", () => 1, { effect: "reads" });
    const first = await stage.open({ tools: [look.tool] });
    const { run_id } = await first.submit({ steps }, { principal: botAgent });
    await first.close();
    for (let time = 0; time < 4; time += 1) await (await stage.open({ tools: [look.tool] })).close();
    await stage.advance(1000);
    const run = await (await stage.open({ tools: [look.tool] })).run(run_id, { principal: botAgent });
    expect(await stage.runUntilIdle(run)).toMatchObject({ status: "completed" });
    expect(await collectEvents(run, "run.taken")).toEqual([]);
  });
});
