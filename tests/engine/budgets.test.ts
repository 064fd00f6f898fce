import { describe, expect, it } from "vitest";
import type { Budget } from "../../src/core/limits/budget.ts";
import type { JsonObject } from "../../src/core/values/json.ts";
import { expectCleanAudit, finalStepStates, singleCallPlan, usedTallies } from "./budget-fixture.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import {
  collectEvents,
  collectJournal,
  deferred,
  neverAnswers,
  rejectedFault,
  scriptedTool,
  type ToolBehaviour,
  throwsFault,
  throwsNotDone,
} from "./scripted-tool.ts";

const daily = (limit: number, more: Partial<Budget> = {}): Budget => ({
  unit: "usd_micros",
  limit,
  per: "user-day",
  ...more,
});

const spends =
  (usd_micros: number): ToolBehaviour =>
  ({ context }) => {
    context.cost({ usd_micros });
    return "done";
  };

const total = async (stage: EngineFixture) =>
  Object.values(await usedTallies(stage)).reduce((sum, each) => sum + each, 0);

describe.each(storeKinds)("budget, on $name", ({ newFixture: newStage }) => {
  it.each([
    [79, null],
    [80, 80],
    [90, 90],
    [99, 90],
    [100, 100],
  ] as const)("of 100 with %d used is past %s percent", async (credits, alert) => {
    const { tool } = scriptedTool("ask", () => ({}), { effect: "reads", cost: { credits } });
    const budgets = [{ unit: "credits", limit: 100, per: "tenant-month" }] as const;
    const engine = await newStage().open({ tools: [tool], budgets });
    await engine.call("ask", {}, { principal: botAgent });
    const [month] = await engine.budgets({ principal: anaPerson });
    expect([month?.used, month?.alert]).toEqual([credits, alert]);
    expect(month?.exhausted_at).not.toBe(undefined);
  });

  it("is reserved when a call starts and settled to its cost, and the rest admits the next call", async () => {
    const stage = newStage();
    const ask = scriptedTool("ask", spends(30), { effect: "reads", cost: { usd_micros: 60 } });
    const engine = await stage.open({ tools: [ask.tool], budgets: [daily(100)] });
    expect(await finalStepStates(engine, stage, "ask", 1)).toEqual(["succeeded"]);
    expect(await usedTallies(stage)).toEqual({ "budget/usd_micros/user-day/2023-11-14/bot": 30 });
    expect(await finalStepStates(engine, stage, "ask", 1)).toEqual(["succeeded"]); // 30 + 60 fits, though 60 + 60 would not.
    expect(await finalStepStates(engine, stage, "ask", 1)).toEqual(["rejected"]);
    expect(await total(stage)).toBe(60);
    expect(ask.calls).toHaveLength(2);
    await expectCleanAudit(engine);
  });

  it("records a refusal with limit, used amount, requested amount and end of the window", async () => {
    const stage = newStage();
    const ask = scriptedTool("ask", spends(60), { effect: "reads", cost: { usd_micros: 60 } });
    const engine = await stage.open({ tools: [ask.tool], budgets: [daily(100)] });
    await finalStepStates(engine, stage, "ask", 1);
    const run = await engine.submit(singleCallPlan("ask"), { principal: botAgent });
    await stage.runUntilIdle(run);
    expect(await collectEvents(run, "step.rejected")).toMatchObject([
      {
        rule: "budget",
        fault: {
          code: "BUDGET_EXCEEDED",
          detail: {
            limit: 100,
            used: 60,
            asked: 60,
            tally: "budget/usd_micros/user-day/2023-11-14/bot",
            window_ends: Date.UTC(2023, 10, 15),
          },
        },
      },
    ]);
    expect(await collectEvents(run, "step.started")).toEqual([]);
  });

  it("is never exceeded by simultaneous calls of one run or of many", async () => {
    const stage = newStage();
    const open3 = deferred<void>();
    const send = scriptedTool("send", () => open3.promise, { cost: { usd_micros: 3 } });
    const engine = await stage.open({ tools: [send.tool], budgets: [daily(10)] });
    const steps = Array.from({ length: 4 }, (_, at) => ({ step_id: `s${at}`, name: "send", payload: { at } }));
    const plan = { steps: steps.map((step) => ({ ...step, on_rejected: "continue" })) };
    const runs = await Promise.all([0, 1, 2].map(() => engine.submit(plan, { principal: botAgent })));
    await stage.advance(0);
    expect(send.calls).toHaveLength(3);
    expect(await total(stage)).toBe(9);
    open3.keep();
    for (const run of runs) await stage.runUntilIdle(run);
    expect(send.calls).toHaveLength(3);
    expect(await total(stage)).toBe(9);
    await expectCleanAudit(engine);
  });

  it("records an overrun in full, which blocks the next call", async () => {
    const stage = newStage();
    const ask = scriptedTool("ask", spends(500), { effect: "reads", cost: { usd_micros: 10 } });
    const engine = await stage.open({ tools: [ask.tool], budgets: [daily(100)] });
    expect(await finalStepStates(engine, stage, "ask", 1)).toEqual(["succeeded"]);
    expect(await total(stage)).toBe(500);
    expect(await finalStepStates(engine, stage, "ask", 1)).toEqual(["rejected"]);
  });

  it("counts unexpected costs and admits calls that cost nothing", async () => {
    const stage = newStage();
    const sum = scriptedTool("sum", [spends(100), spends(0)], { effect: "pure" });
    const ask = scriptedTool("ask", spends(1), { effect: "reads" });
    const engine = await stage.open({ tools: [sum.tool, ask.tool], budgets: [daily(100)] });
    expect(await finalStepStates(engine, stage, "sum", 1)).toEqual(["succeeded"]);
    expect(await total(stage)).toBe(100);
    expect(await finalStepStates(engine, stage, "ask", 1)).toEqual(["rejected"]);
    const run = await engine.submit(singleCallPlan("sum"), { principal: botAgent });
    expect(await stage.runUntilIdle(run)).toMatchObject({ status: "completed" });
    expect(await collectEvents(run, "step.started")).toEqual([]); // One append, as without any budget.
  });

  it("admits a tool without a declared cost while any budget is left", async () => {
    const stage = newStage();
    const ask = scriptedTool("ask", [spends(99), spends(0), spends(1), spends(1)], { effect: "reads" });
    const engine = await stage.open({ tools: [ask.tool], budgets: [daily(100)] });
    expect([
      await finalStepStates(engine, stage, "ask", 1),
      await finalStepStates(engine, stage, "ask", 1),
      await finalStepStates(engine, stage, "ask", 1),
      await finalStepStates(engine, stage, "ask", 1),
    ]).toEqual([["succeeded"], ["succeeded"], ["succeeded"], ["rejected"]]);
    expect(await total(stage)).toBe(100);
  });

  it("charges the declared cost if the handler reports none", async () => {
    const stage = newStage();
    const send = scriptedTool("send", () => "sent", {
      cost: (input) => ({ usd_micros: Number((input as JsonObject).price) }),
    });
    const engine = await stage.open({ tools: [send.tool], budgets: [daily(100)] });
    const run = await engine.submit(singleCallPlan("send", { payload: { price: 70 } }), { principal: botAgent });
    expect(await stage.runUntilIdle(run)).toMatchObject({ status: "completed", spent: { usd_micros: 70 } });
    expect(await total(stage)).toBe(70);
    expect(await engine.spent({ principal: anaPerson, period: "2023-11" })).toMatchObject({ usd_micros: 70 });
  });

  it.each([
    ["NaN", Number.NaN],
    ["less than nothing", -1],
    ["half", 0.5],
    ["more than counts", 2e15],
  ])("refuses a call whose cost is %s", async (_, usd_micros) => {
    const stage = newStage();
    const send = scriptedTool("send", () => "sent", { cost: () => ({ usd_micros }) });
    const engine = await stage.open({ tools: [send.tool], budgets: [daily(100)] });
    const run = await engine.submit(singleCallPlan("send"), { principal: botAgent });
    expect(await stage.runUntilIdle(run)).toMatchObject({
      steps: { a: { state: "rejected", fault: { code: "TOOL_INVALID" } } },
    });
    expect(send.calls).toHaveLength(0);
  });

  it("releases the reservation of an act that did nothing and charges the next attempt", async () => {
    const stage = newStage();
    const send = scriptedTool("send", [throwsNotDone("RATE_LIMIT"), throwsNotDone("RATE_LIMIT"), () => "sent"], {
      cost: { usd_micros: 60 },
    });
    const engine = await stage.open({ tools: [send.tool], budgets: [daily(100)] });
    const run = await engine.submit(singleCallPlan("send"), { principal: botAgent });
    expect(await stage.runUntilIdle(run)).toMatchObject({ status: "completed" });
    const charged = (await collectJournal(run)).flatMap((event) => ("charges" in event ? (event.charges ?? []) : []));
    const budget = charged.filter(({ tally }) => tally.startsWith("budget/")).map(({ amount }) => amount);
    expect(budget).toEqual([60, -60, 60, -60, 60]);
    expect(await total(stage)).toBe(60);
    await expectCleanAudit(engine);
  });

  it("keeps the reservation of a resent act whose last attempt did nothing", async () => {
    const stage = newStage();
    const nothing: ToolBehaviour = (call) => {
      stage.clock.advance(10);
      return throwsNotDone("DEPENDENCY_UNAVAILABLE")(call);
    };
    const send = scriptedTool("send", [throwsFault("NETWORK_TIMEOUT"), nothing], {
      cost: { usd_micros: 60 },
      idempotent: { forMs: 600_000 },
      timeoutMs: 1000,
    });
    const engine = await stage.open({ tools: [send.tool], budgets: [daily(100)] });
    const run = await engine.submit(singleCallPlan("send"), { principal: botAgent });
    await stage.advance(1000);
    expect((await run.now()).steps.a).toMatchObject({ state: "in_doubt" });
    expect(send.calls.length).toBeGreaterThan(1);
    expect(await total(stage)).toBe(60);
    await expectCleanAudit(engine);
  });

  it("keeps the reservation of an act in doubt until it is known not to have happened", async () => {
    const stage = newStage();
    const send = scriptedTool("send", [throwsFault("NETWORK_TIMEOUT"), () => "sent"], { cost: { usd_micros: 60 } });
    const engine = await stage.open({ tools: [send.tool], budgets: [daily(100)] });
    const run = await engine.submit(singleCallPlan("send"), { principal: botAgent });
    expect(await stage.runUntilIdle(run)).toMatchObject({ steps: { a: { state: "in_doubt" } } });
    expect(await total(stage)).toBe(60);
    expect(await finalStepStates(engine, stage, "send", 1)).toEqual(["rejected"]);
    await engine.resolve(run.run_id, "a", { principal: anaPerson, as: "absent" });
    expect(await stage.runUntilIdle(run)).toMatchObject({ status: "completed" }); // It could be paid for again.
    expect(await total(stage)).toBe(60);
    await expectCleanAudit(engine);
  });

  it.each([
    ["happened", { as: "happened", output: "sent" }],
    ["was given up", { as: "give_up" }],
  ] as const)("keeps the reservation of an act that %s", async (_, verdict) => {
    const stage = newStage();
    const send = scriptedTool("send", throwsFault("NETWORK_TIMEOUT"), { cost: { usd_micros: 60 } });
    const engine = await stage.open({ tools: [send.tool], budgets: [daily(100)] });
    const run = await engine.submit(singleCallPlan("send"), { principal: botAgent });
    await stage.runUntilIdle(run);
    await engine.resolve(run.run_id, "a", { principal: anaPerson, ...verdict });
    await stage.runUntilIdle(run);
    expect(await total(stage)).toBe(60);
  });

  it("keeps the reservation of a dead worker and charges the next attempt", async () => {
    const stage = newStage();
    const options = { effect: "reads", cost: { usd_micros: 40 } } as const;
    const budgets = [daily(100)];
    const first = await stage.open({ tools: [scriptedTool("ask", neverAnswers, options).tool], budgets });
    const { run_id } = await first.submit(singleCallPlan("ask"), { principal: botAgent });
    await stage.advance(0);
    await stage.crash();
    const ask = scriptedTool("ask", spends(5), options);
    const engine = await stage.open({ tools: [ask.tool], budgets });
    const run = await engine.run(run_id, { principal: botAgent });
    expect(await stage.runUntilIdle(run)).toMatchObject({ status: "completed" });
    expect(await total(stage)).toBe(45);
    await expectCleanAudit(engine);
  });

  it("keeps the reservation of a read that timed out", async () => {
    const stage = newStage();
    const ask = scriptedTool("ask", neverAnswers, {
      effect: "reads",
      cost: { usd_micros: 40 },
      timeoutMs: 1000,
      tries: 1,
    });
    const engine = await stage.open({ tools: [ask.tool], budgets: [daily(100)] });
    expect(await finalStepStates(engine, stage, "ask", 1)).toEqual(["failed_final"]);
    expect(await total(stage)).toBe(40);
  });

  it("settles a late value with all reported costs, on the day of its start", async () => {
    const stage = newStage();
    stage.clock.advance(Date.UTC(2023, 10, 14, 23, 59, 59, 500) - stage.clock.now());
    const { promise, keep } = deferred<void>();
    const slow: ToolBehaviour = async ({ context }) => {
      context.cost({ usd_micros: 10 });
      await promise;
      context.cost({ usd_micros: 5 });
      return "sent";
    };
    const send = scriptedTool("send", slow, { cost: { usd_micros: 60 }, timeoutMs: 1000 });
    const engine = await stage.open({ tools: [send.tool], budgets: [daily(100)] });
    const run = await engine.submit(singleCallPlan("send"), { principal: botAgent });
    await stage.advance(2000);
    expect(await usedTallies(stage)).toEqual({ "budget/usd_micros/user-day/2023-11-14/bot": 60 });
    keep();
    await stage.advance(0);
    expect(await stage.runUntilIdle(run)).toMatchObject({ status: "completed" });
    expect(await usedTallies(stage)).toEqual({ "budget/usd_micros/user-day/2023-11-14/bot": 15 });
    await expectCleanAudit(engine);
  });

  it("starts a new count with the next day in the tenant's zone", async () => {
    const stage = newStage();
    stage.clock.advance(Date.UTC(2023, 10, 15, 18) - stage.clock.now());
    const ask = scriptedTool("ask", spends(100), { effect: "reads", cost: { usd_micros: 100 } });
    const acme = { mode: "auto_exec", zone: "Asia/Kolkata", budgets: [daily(100)] } as const;
    const engine = await stage.open({ tools: [ask.tool], tenants: { acme } });
    expect(await finalStepStates(engine, stage, "ask", 2)).toEqual(["rejected", "succeeded"]);
    stage.clock.advance(30 * 60_000); // It is half past six in the afternoon in UTC, and midnight in Calcutta.
    await stage.advance(1000);
    expect(await finalStepStates(engine, stage, "ask", 2)).toEqual(["rejected", "succeeded"]);
    expect(Object.keys(await usedTallies(stage))).toEqual([
      "budget/usd_micros/user-day/2023-11-15[Asia/Kolkata]/bot",
      "budget/usd_micros/user-day/2023-11-16[Asia/Kolkata]/bot",
    ]);
  });

  it("finds the earlier spending when a clock goes back, and settles in the window of the start", async () => {
    const stage = newStage();
    const day = 86_400_000;
    const answer = deferred<string>();
    const ask = scriptedTool("ask", [spends(100), () => answer.promise, spends(100)], {
      effect: "reads",
      cost: { usd_micros: 100 },
      timeoutMs: 3_600_000,
    });
    const engine = await stage.open({ tools: [ask.tool], budgets: [daily(100)] });
    await engine.call("ask", {}, { principal: botAgent });
    stage.clock.advance(day);
    const under = await engine.submit(singleCallPlan("ask"), { principal: botAgent });
    await stage.advance(0);
    stage.clock.advance(-day);
    const late = await engine.submit(singleCallPlan("ask"), { principal: botAgent });
    expect((await stage.runUntilIdle(late)).steps.a).toMatchObject({
      state: "rejected",
      fault: { code: "BUDGET_EXCEEDED" },
    });
    answer.keep("done");
    expect((await stage.runUntilIdle(under)).status).toBe("completed");
    expect(Object.values(await usedTallies(stage))).toEqual([100, 100]);
    expect(ask.calls).toHaveLength(2);
    await expectCleanAudit(engine);
  });

  it("is separate for each user, tenant and run", async () => {
    const stage = newStage();
    const ask = scriptedTool("ask", spends(10), { effect: "reads", cost: { usd_micros: 10 } });
    const budgets = [daily(10), daily(20, { per: "tenant-month" }), daily(10, { per: "run" })];
    const engine = await stage.open({ tools: [ask.tool], budgets });
    const state = async (principal: typeof botAgent) => {
      const run = await engine.submit(singleCallPlan("ask"), { principal });
      return (await stage.runUntilIdle(run)).steps.a?.state;
    };
    expect(await state(botAgent)).toBe("succeeded");
    expect(await state(botAgent)).toBe("rejected"); // Its day is spent.
    expect(await state({ ...botAgent, id: "other" })).toBe("succeeded");
    expect(await state({ ...botAgent, id: "third" })).toBe("rejected"); // The tenant's month is spent.
    expect(await state({ ...botAgent, tenant: "globex" })).toBe("succeeded");
    expect(Object.keys(await usedTallies(stage, "budget/usd_micros/run"))).toHaveLength(2);
    await expectCleanAudit(engine);
  });

  it("limits each call, each tool, calls, tokens and time", async () => {
    const stage = newStage();
    const talk: ToolBehaviour = ({ context }) => context.cost({ tokens_in: 30, tokens_out: 20 }) ?? "said";
    const ask = scriptedTool("ask", talk, {
      effect: "reads",
      cost: (input) => ({ tokens_out: Number((input as JsonObject).max ?? 1) }),
    });
    const sum = scriptedTool("sum", () => 1, { effect: "pure" });
    const budgets: readonly Budget[] = [
      { unit: "tokens_out", limit: 50, per: "call" },
      { unit: "tokens", limit: 120, per: "user-hour" },
      { unit: "calls", limit: 2, per: "tenant-day", tool: "sum" },
    ];
    const engine = await stage.open({ tools: [ask.tool, sum.tool], budgets });
    const run = await engine.submit(singleCallPlan("ask", { payload: { max: 51 } }), { principal: botAgent });
    expect(await stage.runUntilIdle(run)).toMatchObject({
      steps: { a: { state: "rejected", fault: { code: "BUDGET_EXCEEDED" } } },
    });
    expect(await finalStepStates(engine, stage, "ask", 1)).toEqual(["succeeded"]);
    expect(await finalStepStates(engine, stage, "ask", 1)).toEqual(["succeeded"]);
    expect(await finalStepStates(engine, stage, "ask", 1)).toEqual(["succeeded"]); // 100 are used, and 1 was expected.
    expect(await finalStepStates(engine, stage, "ask", 1)).toEqual(["rejected"]);
    for (const state of ["succeeded", "succeeded", "rejected"])
      expect(await finalStepStates(engine, stage, "sum", 1)).toEqual([state]);
    expect(await usedTallies(stage)).toEqual({
      "budget/calls:sum/tenant-day/2023-11-14": 2,
      "budget/tokens/user-hour/2023-11-14T22/bot": 150,
    });
  });

  it("counts the time of handlers", async () => {
    const stage = newStage();
    const nap: ToolBehaviour = () => new Promise((resolve) => stage.schedule(4000, () => resolve("rested")));
    const engine = await stage.open({
      tools: [scriptedTool("nap", nap, { effect: "reads" }).tool],
      budgets: [{ unit: "ms", limit: 6000, per: "user-day" }],
    });
    for (const state of ["succeeded", "succeeded", "rejected"])
      expect(await finalStepStates(engine, stage, "nap", 1)).toEqual([state]);
    expect(await total(stage)).toBe(8000);
  });

  it("stays spent after an undo, and does not refuse the undo", async () => {
    const stage = newStage();
    const send = scriptedTool("send", () => "sent", { cost: { usd_micros: 100 }, compensate: () => "undone" });
    const budgets = [daily(100), { unit: "calls", limit: 1, per: "user-day" } as const];
    const engine = await stage.open({ tools: [send.tool], budgets });
    const run = await engine.submit(singleCallPlan("send"), { principal: botAgent });
    await stage.runUntilIdle(run);
    await engine.resolve(run.run_id, "a", { principal: anaPerson, as: "undo" });
    expect(await stage.runUntilIdle(run)).toMatchObject({ steps: { a: { state: "compensated" } } });
    expect(await usedTallies(stage)).toMatchObject({ "budget/usd_micros/user-day/2023-11-14/bot": 100 });
    await expectCleanAudit(engine);
  });

  it("charges nothing for a call that is held, denied or reused", async () => {
    const stage = newStage();
    const send = scriptedTool("send", () => "sent", {
      cost: { usd_micros: 60 },
      identity: ["to"],
      onDuplicate: "reuse",
    });
    const engine = await stage.open({ tools: [send.tool], budgets: [daily(100)], tenants: {} });
    const plan = singleCallPlan("send", { payload: { to: "ana" } });
    const [held, denied] = [
      await engine.submit(plan, { principal: botAgent }),
      await engine.submit(plan, { principal: botAgent }),
    ];
    const [gate] = (await stage.runUntilIdle(held)).gates;
    const [other] = (await stage.runUntilIdle(denied)).gates;
    expect(await total(stage)).toBe(0);
    await engine.reject(other?.gate_id as string, { principal: anaPerson });
    await engine.approve(gate?.gate_id as string, { principal: anaPerson });
    expect(await stage.runUntilIdle(held)).toMatchObject({ status: "completed" });
    expect(await total(stage)).toBe(60);
    const again = await engine.submit(plan, { principal: botAgent });
    const [third] = (await stage.runUntilIdle(again)).gates;
    await engine.approve(third?.gate_id as string, { principal: anaPerson });
    expect(await stage.runUntilIdle(again)).toMatchObject({ status: "completed", steps: { a: { reused: {} } } });
    expect(await total(stage)).toBe(60);
  });

  it("refuses an unaffordable call before approval, and an approved one when the budget is used up", async () => {
    const stage = newStage();
    const send = scriptedTool("send", () => "sent", { cost: { usd_micros: 60 } });
    const engine = await stage.open({ tools: [send.tool], budgets: [daily(100)], tenants: {} });
    const [one1, two] = [
      await engine.submit(singleCallPlan("send"), { principal: botAgent }),
      await engine.submit(singleCallPlan("send"), { principal: botAgent }),
    ];
    const gates = [await stage.runUntilIdle(one1), await stage.runUntilIdle(two)].map(
      (result) => result.gates[0]?.gate_id as string,
    );
    for (const gate of gates) await engine.approve(gate, { principal: anaPerson });
    expect(
      [await stage.runUntilIdle(one1), await stage.runUntilIdle(two)].map(({ steps }) => steps.a?.state).sort(),
    ).toEqual(["rejected", "succeeded"]);
    const third = await engine.submit(singleCallPlan("send"), { principal: botAgent });
    expect(await stage.runUntilIdle(third)).toMatchObject({ gates: [], steps: { a: { state: "rejected" } } });
    expect(await collectEvents(third, "gate.opened")).toEqual([]);
  });

  it("is checked by a simulation, which charges nothing", async () => {
    const stage = newStage();
    const send = scriptedTool("send", () => "sent", { cost: { usd_micros: 60 } });
    const engine = await stage.open({ tools: [send.tool], budgets: [daily(50)] });
    expect(await engine.simulate(singleCallPlan("send"), { principal: botAgent })).toMatchObject({
      steps: { a: { would: "fail", fault: { code: "BUDGET_EXCEEDED" } } },
    });
    expect(await usedTallies(stage)).toEqual({});
  });

  it("reports its use and its forecast", async () => {
    const stage = newStage();
    const ask = scriptedTool("ask", spends(30), { effect: "reads", cost: { usd_micros: 60 } });
    const monthly = { unit: "calls", limit: 5, per: "project-month", tool: "ask" } as const;
    const budgets = [daily(100), monthly, daily(70, { per: "call" }), daily(90, { per: "run" })];
    const rates = [{ calls: 4, per: "tenant-minute" }] as const;
    const engine = await stage.open({ tools: [ask.tool], budgets, rates });
    const run = await engine.submit(singleCallPlan("ask"), { principal: botAgent, project: "website" });
    await stage.runUntilIdle(run);
    const day = { name: "2023-11-14", from: Date.UTC(2023, 10, 14), until: Date.UTC(2023, 10, 15) };
    const mine = {
      of: "budget",
      unit: "usd_micros",
      per: "user-day",
      tool: null,
      rule: null,
      limit: 100,
      used: 30,
      left: 70,
    };
    const passed = (stage.clock.now() - day.from) / 86_400_000;
    const told = await engine.budgets({ principal: anaPerson, by: "bot" });
    expect(told[0]).toEqual({
      ...mine,
      tally: "budget/usd_micros/user-day/2023-11-14/bot",
      window: day,
      forecast: Math.round(30 / passed),
      exhausted_at: null,
      alert: null,
    });
    expect(told.map(({ per }) => per)).toEqual(["user-day", "call", "tenant-minute"]);
    expect(await engine.budgets({ principal: anaPerson })).toMatchObject([{ used: 0, left: 100 }, {}, {}]);
    const all = await engine.budgets({ principal: anaPerson, runId: run.run_id });
    expect(all).toMatchObject([
      { per: "user-day", used: 30 },
      { per: "project-month", tool: "ask", used: 1, left: 4 },
      { per: "call", limit: 70, used: 0, tally: null, window: null, forecast: null },
      { per: "run", used: 30, window: null, forecast: null },
      { of: "rate", unit: "calls", used: 1, left: 3 },
    ]);
    expect(await engine.budgets({ principal: anaPerson, project: "other" })).toMatchObject([{}, { used: 0 }, {}, {}]);
    expect(await engine.budgets({ principal: { ...anaPerson, tenant: "globex" } })).toMatchObject([
      { used: 0 },
      {},
      { used: 0 },
    ]);
    expect(await rejectedFault(engine.budgets({ principal: anaPerson, by: "" }))).toMatchObject({
      code: "INVALID_INPUT",
    });
    const free = await newStage().open({ tools: [] });
    expect(await free.budgets({ principal: anaPerson })).toEqual([]);
  });

  it.each([
    [{ budgets: [{ unit: "usd", limit: 1, per: "run" }] }, /budgets\[0\] needs unit/],
    [{ budgets: [{ unit: "calls", limit: -1, per: "run" }] }, /budgets\[0\] needs a limit/],
    [{ budgets: [{ unit: "calls", limit: Number.NaN, per: "run" }] }, /needs a limit/],
    [{ budgets: [{ unit: "calls", limit: 2 ** 60, per: "run" }] }, /needs a limit/],
    [{ budgets: [{ unit: "calls", limit: 1.5, per: "run" }] }, /needs a limit/],
    [{ budgets: [{ unit: "calls", limit: 1, per: "week" }] }, /needs per, one of/],
    [{ rates: [{ calls: 2, per: "user-minute", burst: 3 }] }, /needs a burst from 1 to its calls/],
    [{ rates: [{ calls: 2, per: "user-minute", burst: 0 }] }, /needs a burst from 1 to its calls/],
    [{ budgets: [{ unit: "calls", limit: 1, per: "run", tools: "a" }] }, /did you mean tool/],
    [{ budgets: [{ unit: "calls", limit: 1, per: "run", tool: "" }] }, /name of a tool/],
    [{ budgets: { unit: "calls" } }, /budgets must be a list/],
    [{ budgets: [null] }, /must be an object/],
    [{ rates: [{ calls: 0, per: "user-minute" }] }, /rates\[0\] needs calls/],
    [{ rates: [{ calls: 1, per: "run" }] }, /needs per/],
    [{ zone: "Middle/Earth" }, /IANA/],
    [{ tenants: { acme: { zone: 7 } } }, /tenant acme: zone/],
    [{ tenants: { acme: { budgets: [{}] } } }, /tenant acme: budgets\[0\] needs unit/],
  ])("is refused if it is invalid: %j", async (options, why) => {
    const refused = await rejectedFault(newStage().open({ tools: [], ...(options as object) }));
    expect(refused).toMatchObject({ code: "CONFIG_INVALID", message: expect.stringMatching(why) });
  });
});
