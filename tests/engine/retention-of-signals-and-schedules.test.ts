import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/store/store.ts";
import type { RunId, Tenant } from "../../src/core/values/ids.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { scriptedTool } from "./scripted-tool.ts";

const minute = 60_000;
const greets = { steps: [{ step_id: "a", name: "greet" }] };
const waits = { steps: [{ step_id: "w", kind: "wait", payload: { signal: "go" } }] };

/** The positions of a journal whose bodies are still there, by how its name begins. */
async function bodies(store: Store, prefix: string): Promise<readonly number[]> {
  const journals = (await store.runs("acme" as Tenant, prefix, 9)).filter((name) => name.startsWith(prefix));
  expect(journals).toHaveLength(1);
  const events = await store.events("acme" as Tenant, journals[0] as RunId, 0);
  return events.filter(({ body }) => body !== null).map(({ position }) => position);
}

describe.each(storeKinds)("retention of signals and schedules, on $name", ({ newFixture: newStage }) => {
  it("erases consumed signals and keeps unconsumed ones", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const send = (payload: unknown) => engine.signal("go", payload as never, { principal: botAgent, id: `${payload}` });
    for (const nth of [1, 2, 3]) await send(nth);
    const first = await engine.submit(waits, { principal: botAgent });
    await stage.runUntilIdle(first);
    stage.clock.advance(minute);
    const erased = await engine.retain({ principal: anaPerson, endedBefore: stage.clock.now() });
    expect(await bodies(stage.store(), "sig_")).toEqual([2, 3]);
    expect(erased).toMatchObject({ runs: 1 });
    expect(await send(1)).toBe("duplicate");
    const second = await engine.submit(waits, { principal: botAgent });
    expect((await stage.runUntilIdle(second)).steps.w).toMatchObject({ output: { signal: 2 } });
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], erased: erased.events });
    await engine.retain({ principal: anaPerson, endedBefore: stage.clock.now() - 1 });
    expect(await bodies(stage.store(), "sig_")).toEqual([3]);
  });

  it("erases past schedule times and keeps the schedule", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [scriptedTool("greet", () => ({}), { effect: "reads" }).tool] });
    const everyMinute = { principal: anaPerson, cron: "* * * * *" };
    await engine.schedules.set("hello", greets, everyMinute);
    await engine.schedules.set("hello", greets, { ...everyMinute, priority: 1 });
    await stage.advance(3 * minute);
    const before = (await bodies(stage.store(), "sch_")).length;
    expect(before).toBeGreaterThan(3);
    await engine.retain({ principal: anaPerson, endedBefore: stage.clock.now() });
    expect(await bodies(stage.store(), "sch_")).toEqual([2]);
    expect((await engine.audit({ principal: anaPerson })).broken).toEqual([]);
    await stage.advance(minute);
    expect(await engine.schedules.list({ principal: anaPerson })).toMatchObject([{ status: "on", priority: 1 }]);
    expect(await bodies(stage.store(), "sch_")).toEqual([2, before + 1]);
    await engine.schedules.remove("hello", { principal: anaPerson });
    stage.clock.advance(1);
    await engine.retain({ principal: anaPerson, endedBefore: stage.clock.now() });
    expect(await bodies(stage.store(), "sch_")).toEqual([]);
    expect((await engine.audit({ principal: anaPerson })).broken).toEqual([]);
  });
});
