import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/store/store.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { scriptedTool } from "./scripted-tool.ts";

const why = { principal: anaPerson, reason: "it reads what it should not" };
const asks = () => scriptedTool("crm.read", () => ({}), { effect: "reads", cache: "ttl_only", cacheTtlMs: 1000 });
const read = () => ({ steps: [{ step_id: "read", name: "crm.read", payload: {} }] });

/** A store that takes its time with the first list that it is asked for, while something else happens. */
function slow(store: Store, meanwhile: () => Promise<unknown>): Store {
  let waited = false;
  const list: Store["list"] = async (...given) => {
    if (!waited) await meanwhile();
    waited = true;
    return store.list(...given);
  };
  return { ...store, list };
}

/** Bugs that the simulator found: halts that are set during a call. */
describe.each(storeKinds)("halt during a call, on $name", ({ newFixture: newStage }) => {
  it("stops a call that does not act, though the store was slow after admission", async () => {
    const stage = newStage();
    const { tool, calls } = asks();
    const office = await stage.open({ tools: [tool], work: false });
    const store = slow(stage.store(), async () => {
      await office.halts.set(why);
      stage.clock.advance(5000);
    });
    const worker = await stage.open({ store, tools: [tool] });
    const run = await worker.submit(read(), { principal: botAgent });
    expect((await stage.runUntilIdle(run)).blocked_on).toMatchObject([{ reason_code: "HALTED" }]);
    expect(calls).toHaveLength(0);
    await office.halts.lift({ principal: anaPerson });
    await stage.advance(60_000);
    expect((await run.now()).status).toBe("completed");
  });

  it("that is lifted again does not make a step wait for a child that was never started", async () => {
    const stage = newStage();
    const { tool } = asks();
    const worker = await stage.open({ tools: [tool] });
    const office = await stage.open({ tools: [tool], work: false });
    await office.halts.set(why);
    const first = await worker.submit(read(), { principal: botAgent });
    expect((await first.result()).blocked_on).toMatchObject([{ reason_code: "HALTED" }]);
    await office.halts.lift({ principal: anaPerson });
    // The worker has just looked, and believes that it is halted until it is told otherwise by the store.
    const plan = { steps: [{ step_id: "ask", kind: "run", payload: { plan: read() } }] };
    const run = await worker.submit(plan, { principal: botAgent });
    await stage.advance(60_000);
    expect((await run.now()).status).toBe("completed");
  });
});
