import { describe, expect, it } from "vitest";
import { FaultError, fault } from "../../src/core/values/fault.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { memoryStore } from "../../src/store/memory/memory-store.ts";
import { fakeClock } from "../../src/testing/fake-clock.ts";
import { manualTimers } from "../../src/testing/manual-timers.ts";
import { botAgent } from "./engine-fixture.ts";
import { scriptedTool } from "./scripted-tool.ts";

function newWorld() {
  const clock = fakeClock();
  return { clock, timers: manualTimers(clock), store: memoryStore({ clock }), dice: () => 0.5 };
}

describe("engine timers", () => {
  it("continue a waiting run on time, not at the next sweep", async () => {
    const { timers, ...world } = newWorld();
    const engine = await createEngine({ ...world, timers, tools: [] });
    await timers.pass(100);
    const steps = [{ step_id: "pause", kind: "wait", payload: { ms: 200 } }];
    const run = await engine.submit({ steps }, { principal: botAgent });
    await timers.pass(199);
    expect((await run.now()).steps.pause).toEqual({ state: "waiting" });
    await timers.pass(1);
    expect((await run.now()).status).toBe("completed");
    await engine.close();
  });

  it("continue in time a run that the store once failed to release", async () => {
    const { timers, store, ...world } = newWorld();
    let failures = 0;
    const release: typeof store.release = async (claim) => {
      failures += 1;
      if (failures === 1) throw new FaultError(fault("STORE_FAILED", "the store is not itself"));
      await store.release(claim);
    };
    const engine = await createEngine({ ...world, timers, store: { ...store, release }, tools: [] });
    const steps = [{ step_id: "pause", kind: "wait", payload: { ms: 2000 } }];
    const run = await engine.submit({ steps }, { principal: botAgent });
    await timers.pass(2000);
    expect((await run.now()).status).toBe("completed");
    await engine.close();
  });

  it("are all cleared when the engine closes", async () => {
    const { timers, ...world } = newWorld();
    const telling = scriptedTool("tell", ({ context }) => context.notice("told", {}) ?? 1, { effect: "reads" });
    const deaf = () => Promise.reject(new Error("nobody listens"));
    const engine = await createEngine({ ...world, timers, tools: [telling.tool], onNotice: deaf });
    const steps = [
      { step_id: "tell", name: "tell", payload: {} },
      { step_id: "pause", kind: "wait", payload: { ms: 60_000 } },
    ];
    await engine.submit({ steps }, { principal: botAgent });
    await timers.pass(5000);
    expect(timers.armed).toBeGreaterThan(0);
    await engine.close();
    expect(timers.armed).toBe(0);
  });
});
