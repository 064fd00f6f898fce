import { describe, expect, it } from "vitest";
import type { PlanInput } from "../../src/core/plan/plan-input.ts";
import { planAndExecute } from "../../src/engine/plan-and-execute.ts";
import { definePlanner, type PlanRequest } from "../../src/schema/define-planner.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, rejectedFault, scriptedTool, throwsFault } from "./scripted-tool.ts";

const reads = { effect: "reads" } as const;
const send = (to: string) => ({ step_id: "send", name: "mail", payload: { to } });
const viaShop: PlanInput = {
  plan_id: "shop",
  steps: [send("ana"), { step_id: "buy", name: "shop", depends_on: ["send"] }],
};
const viaStore: PlanInput = {
  plan_id: "store",
  steps: [send("ana"), { step_id: "buy", name: "store", depends_on: ["send"] }],
};

function planner(...plans: readonly unknown[]) {
  const asked: PlanRequest[] = [];
  const plan = (request: PlanRequest) => {
    asked.push(request);
    return plans as readonly PlanInput[];
  };
  return { tool: definePlanner({ name: "planner", timeoutMs: 1000, plan }), asked };
}

describe.each(storeKinds)("plans for a goal, on $name", ({ newFixture }) => {
  const tools = () => {
    const mail = scriptedTool("mail", () => ({ sent: true }));
    const shop = scriptedTool("shop", throwsFault("POLICY_DENIED"), reads);
    const store = scriptedTool("store", () => "bought", reads);
    return { mail, shop, store, all: [mail.tool, shop.tool, store.tool] };
  };

  it("are ranked, the best runs, and the next one continues its run without repeating an act", async () => {
    const { mail, store, all } = tools();
    const engine = await newFixture().open({ tools: all });
    const { run, ranked } = await planAndExecute(engine, { principal: botAgent, plans: [viaShop, viaStore] });
    expect(ranked.map(({ plan, candidate }) => [plan.plan_id, candidate])).toEqual([
      ["shop", 0],
      ["store", 1],
    ]);
    expect(await run.finished()).toMatchObject({
      status: "completed",
      replanned: { plans: 2, asked: 0 },
      steps: { "send@2": { reused: { step: "send" } }, "buy@2": { output: "bought" } },
    });
    expect([mail.calls.length, store.calls.length]).toEqual([1, 1]);
    const { tools: activity } = await engine.tools.activity({ principal: anaPerson });
    expect(activity.map(({ tool, succeeded, failed, reused }) => [tool, succeeded, failed, reused])).toEqual([
      ["mail", 1, 0, 1],
      ["shop", 0, 1, 0],
      ["store", 1, 0, 0],
    ]);
    // The shop has failed before, so the next time the plan with the store comes first.
    const again = await planAndExecute(engine, { principal: botAgent, plans: [viaShop, viaStore] });
    expect(again.ranked[0]?.plan.plan_id).toBe("store");
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], rows: [] });
  });

  it("come from a planner, whose answer is on record and is not asked for again under the same key", async () => {
    const { all } = tools();
    const { tool, asked } = planner(viaStore, { steps: [{ step_id: "x", name: "rm" }] }, viaShop);
    const engine = await newFixture().open({ tools: [...all, tool] });
    const options = { principal: botAgent, planner: "planner", goal: { buy: "tea" }, requestKey: "tea" } as const;
    const first = await planAndExecute(engine, options);
    const second = await planAndExecute(engine, options);
    expect(asked).toEqual([{ goal: { buy: "tea" }, candidates: 3 }]);
    expect([second.planned_in, second.run.run_id]).toEqual([first.planned_in, first.run.run_id]);
    expect(first.ranked.map(({ candidate, score }) => [candidate, score > 0])).toEqual([
      [0, true],
      [2, true],
      [1, false],
    ]);
    const [accepted] = await collectEvents(first.run, "run.accepted");
    expect(accepted?.fallbacks?.map(({ plan_id }) => plan_id)).toEqual(["shop"]);
    expect(await first.run.finished()).toMatchObject({ status: "completed" });
  });

  it("are not used if a step of theirs is refused to the principal, and the record says why", async () => {
    const { all } = tools();
    const wipe = scriptedTool("wipe", () => 1, { effect: "reads", roles: ["admin"] });
    const engine = await newFixture().open({ tools: [...all, wipe.tool] });
    const admin = { plan_id: "admin", steps: [{ step_id: "w", name: "wipe" }] };
    const { run, ranked } = await planAndExecute(engine, { principal: botAgent, plans: [admin, viaStore] });
    expect(ranked.map(({ plan, score }) => [plan.plan_id, score > 0])).toEqual([
      ["store", true],
      ["admin", false],
    ]);
    expect(await run.finished()).toMatchObject({ status: "completed" });
    expect(wipe.calls).toEqual([]);
    const refused = await planAndExecute(engine, { principal: botAgent, plans: [admin] });
    expect((await refused.run.finished()).steps.w).toMatchObject({ state: "rejected" });
  });

  it.each([
    ["throws", () => Promise.reject(new Error("the model is away")), "TOOL_FAILED"],
    ["never answers", () => new Promise<never>(() => {}), "TOOL_TIMEOUT"],
    ["answers garbage", () => "plans" as never, "SCHEMA_VALIDATION_FAILED"],
    ["answers plans that cannot run", () => [7, { steps: [] }] as never, "PLAN_INVALID"],
    ["answers no plan", () => [], "PLAN_INVALID"],
  ] as const)("do not run when the planner %s: the fault is typed, and on record", async (_what, plan, code) => {
    const stage = newFixture();
    const tool = definePlanner({ name: "planner", timeoutMs: 1000, plan });
    const engine = await stage.open({ tools: [...tools().all, tool] });
    const refused = rejectedFault(
      planAndExecute(engine, { principal: botAgent, planner: "planner", goal: "tea", candidates: 2 }),
    );
    for (let second = 0; second < 300; second += 1) await stage.advance(1000);
    expect((await refused).code).toBe(code);
    const runs = await engine.runs({ principal: anaPerson });
    expect(runs.length).toBeGreaterThan(0);
    expect(runs.every(({ status }) => status !== "running")).toBe(true);
  });

  it("are refused with a reason if the request says too little or too much", async () => {
    const engine = await newFixture().open({ tools: tools().all });
    const bad = [
      {},
      { plans: [viaShop], planner: "p", goal: 1 },
      { plans: "many" },
      { planner: "p", goal: 1, candidates: 99 },
    ];
    for (const options of bad) {
      const work = planAndExecute(engine, { principal: botAgent, ...options } as never);
      expect((await rejectedFault(work)).code).toBe("INVALID_INPUT");
    }
  });
});
