import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/store.ts";
import { actor } from "./cast.ts";
import { ana, bot, places } from "./stage.ts";

const why = { principal: ana, reason: "it reads what it should not" };
const asks = () => actor("crm.read", () => ({}), { effect: "reads", cache: "ttl_only", cacheTtlMs: 1000 });
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

/** What the simulator found of halts that come while a step is on its way, told as stories. */
describe.each(places)("a halt that comes on the way, on $name", ({ newStage }) => {
  it("is met by what does not act, though its facts were fetched from a slow store since it was admitted", async () => {
    const stage = newStage();
    const { tool, calls } = asks();
    const office = await stage.open({ tools: [tool], work: false });
    const store = slow(stage.store(), async () => {
      await office.halts.set(why);
      stage.clock.advance(5000);
    });
    const worker = await stage.open({ store, tools: [tool] });
    const run = await worker.submit(read(), { principal: bot });
    expect((await stage.rest(run)).blocked_on).toMatchObject([{ reason_code: "HALTED" }]);
    expect(calls).toHaveLength(0);
    await office.halts.lift({ principal: ana });
    await stage.pass(60_000);
    expect((await run.now()).status).toBe("completed");
  });

  it("and is lifted again does not make a step wait for a run that nobody asked for", async () => {
    const stage = newStage();
    const { tool } = asks();
    const worker = await stage.open({ tools: [tool] });
    const office = await stage.open({ tools: [tool], work: false });
    await office.halts.set(why);
    const first = await worker.submit(read(), { principal: bot });
    expect((await first.result()).blocked_on).toMatchObject([{ reason_code: "HALTED" }]);
    await office.halts.lift({ principal: ana });
    // The worker has just looked, and believes that it is halted until it is told otherwise by the store.
    const plan = { steps: [{ step_id: "ask", kind: "run", payload: { plan: read() } }] };
    const run = await worker.submit(plan, { principal: bot });
    await stage.pass(60_000);
    expect((await run.now()).status).toBe("completed");
  });
});
