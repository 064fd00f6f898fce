import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/store/store.ts";
import { FaultError, fault } from "../../src/core/values/fault.ts";
import type { EngineOptions } from "../../src/engine/api/engine-api.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, scriptedTool } from "./scripted-tool.ts";

const asking = (credits: number) => scriptedTool("ask", () => ({}), { effect: "reads", cost: { credits } }).tool;
const budgets = [{ unit: "credits", limit: 100, per: "tenant-day" }] as const;

/** Takes what it is told, and remembers it in short. */
function listener() {
  const told: string[] = [];
  const onNotice: EngineOptions["onNotice"] = async ({ topic, payload }) => {
    const { level, used, limit, per } = payload as Record<string, unknown>;
    told.push(`${topic} ${level} ${used}/${limit} ${per}`);
  };
  return { told, onNotice };
}

describe.each(storeKinds)("budget alert, on $name", ({ newFixture: newStage }) => {
  it("is sent at 80, 90 and 100 percent, once each per window, and is recorded", async () => {
    const stage = newStage();
    const { told, onNotice } = listener();
    const options = { tools: [asking(10)], budgets, onNotice };
    let engine = await stage.open(options);
    const spend = async (times: number) => {
      for (let time = 0; time < times; time += 1) await engine.call("ask", {}, { principal: botAgent });
      await stage.advance(0);
    };
    await spend(7);
    expect(told).toEqual([]);
    await spend(1);
    const eighty = "budget.alerted 80 80/100 tenant-day";
    expect(told).toEqual([eighty]);
    await stage.crash();
    engine = await stage.open(options);
    await spend(4);
    expect(told).toEqual([eighty, "budget.alerted 90 90/100 tenant-day", "budget.alerted 100 100/100 tenant-day"]);
    const runs = await engine.runs({ principal: anaPerson });
    const said = await Promise.all(
      runs.map(async ({ run_id }) =>
        collectEvents(await engine.run(run_id, { principal: anaPerson }), "budget.alerted"),
      ),
    );
    expect(said.flat().map(({ level, tally }) => [level, tally])).toHaveLength(3);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], tallies: [] });
    stage.clock.advance(86_400_000);
    await spend(8);
    expect(told.slice(3)).toEqual([eighty]);
  });

  it("is sent once though many calls cross a level together, and for each level of a jump", async () => {
    const stage = newStage();
    const { told, onNotice } = listener();
    const engine = await stage.open({ tools: [asking(25)], budgets, onNotice });
    await Promise.all([1, 2, 3, 4].map(() => engine.call("ask", {}, { principal: botAgent })));
    await stage.advance(0);
    expect(told.map((each) => each.split(" ")[1]).sort()).toEqual(["100", "80", "90"]);
  });

  it("is sent by the refused call if the call that spent the rest could not", async () => {
    const stage = newStage();
    const { told, onNotice } = listener();
    const store = stage.store();
    const used: Store["used"] = (tenant, tally) =>
      tally.startsWith("budget/")
        ? Promise.reject(new FaultError(fault("STORE_FAILED", "nobody is there")))
        : store.used(tenant, tally);
    const first = await stage.open({ tools: [asking(100)], budgets, onNotice, store: { ...store, used } });
    await first.call("ask", {}, { principal: botAgent });
    await stage.crash();
    expect(told).toEqual([]);
    const second = await stage.open({ tools: [asking(100)], budgets, onNotice });
    await second.call("ask", {}, { principal: botAgent });
    await stage.advance(0);
    expect(told).toHaveLength(3);
  });

  it("is not sent for a rate, a per-call limit, a zero budget or a simulation", async () => {
    const stage = newStage();
    const { told, onNotice } = listener();
    const none = { unit: "tokens", limit: 0, per: "tenant-day" } as const;
    const each = { unit: "credits", limit: 100, per: "call" } as const;
    const rates = [{ calls: 1, per: "tenant-minute" }] as const;
    const engine = await stage.open({ tools: [asking(100)], budgets: [none, each], rates, onNotice });
    await engine.call("ask", {}, { principal: botAgent });
    const plan = { steps: [{ step_id: "a", name: "ask", payload: {} }] };
    const strict = await newStage().open({ tools: [asking(100)], budgets, onNotice });
    await strict.simulate(plan, { principal: botAgent });
    await stage.advance(0);
    expect(told).toEqual([]);
  });
});
