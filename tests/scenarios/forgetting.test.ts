import { describe, expect, it } from "vitest";
import type { RunId, Tenant } from "../../src/core/id.ts";
import type { Store } from "../../src/core/store.ts";
import { actor } from "./cast.ts";
import { ana, bot, places } from "./stage.ts";

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

describe.each(places)("retention of what is no run, on $name", ({ newStage }) => {
  it("takes signals that were taken out of their box, and leaves those that nobody took", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const send = (payload: unknown) => engine.signal("go", payload as never, { principal: bot, id: `${payload}` });
    for (const nth of [1, 2, 3]) await send(nth);
    const first = await engine.submit(waits, { principal: bot });
    await stage.rest(first);
    stage.clock.advance(minute);
    const erased = await engine.retain({ principal: ana, endedBefore: stage.clock.now() });
    expect(await bodies(stage.store(), "sig_")).toEqual([2, 3]);
    expect(erased).toMatchObject({ runs: 1 });
    expect(await send(1)).toBe("duplicate");
    const second = await engine.submit(waits, { principal: bot });
    expect((await stage.rest(second)).steps.w).toMatchObject({ output: { signal: 2 } });
    expect(await engine.audit({ principal: ana })).toMatchObject({ broken: [], erased: erased.events });
    await engine.retain({ principal: ana, endedBefore: stage.clock.now() - 1 });
    expect(await bodies(stage.store(), "sig_")).toEqual([3]);
  });

  it("takes what became of a schedule's times, and leaves what it is for", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [actor("greet", () => ({}), { effect: "reads" }).tool] });
    const everyMinute = { principal: ana, cron: "* * * * *" };
    await engine.schedules.set("hello", greets, everyMinute);
    await engine.schedules.set("hello", greets, { ...everyMinute, priority: 1 });
    await stage.pass(3 * minute);
    const before = (await bodies(stage.store(), "sch_")).length;
    expect(before).toBeGreaterThan(3);
    await engine.retain({ principal: ana, endedBefore: stage.clock.now() });
    expect(await bodies(stage.store(), "sch_")).toEqual([2]);
    expect((await engine.audit({ principal: ana })).broken).toEqual([]);
    await stage.pass(minute);
    expect(await engine.schedules.list({ principal: ana })).toMatchObject([{ status: "on", priority: 1 }]);
    expect(await bodies(stage.store(), "sch_")).toEqual([2, before + 1]);
    await engine.schedules.remove("hello", { principal: ana });
    stage.clock.advance(1);
    await engine.retain({ principal: ana, endedBefore: stage.clock.now() });
    expect(await bodies(stage.store(), "sch_")).toEqual([]);
    expect((await engine.audit({ principal: ana })).broken).toEqual([]);
  });
});
