import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/core/json/json.ts";
import type { Budget } from "../../src/core/limits/budget.ts";
import { actor, type Deed, eventsOf, faultOf, hang, journalOf, promised, says, throws } from "./cast.ts";
import { isSound, one, states, used } from "./spending.ts";
import { ana, bot, places, type Stage } from "./stage.ts";

const daily = (limit: number, more: Partial<Budget> = {}): Budget => ({
  unit: "usd_micros",
  limit,
  per: "user-day",
  ...more,
});

const spends =
  (usd_micros: number): Deed =>
  ({ context }) => {
    context.cost({ usd_micros });
    return "done";
  };

const total = async (stage: Stage) => Object.values(await used(stage)).reduce((sum, each) => sum + each, 0);

describe.each(places)("a budget, on $name", ({ newStage }) => {
  it.each([
    [79, null],
    [80, 80],
    [90, 90],
    [99, 90],
    [100, 100],
  ] as const)("of 100 of which %d are used is past %s percent", async (credits, alert) => {
    const { tool } = actor("ask", () => ({}), { effect: "reads", cost: { credits } });
    const budgets = [{ unit: "credits", limit: 100, per: "tenant-month" }] as const;
    const engine = await newStage().open({ tools: [tool], budgets });
    await engine.call("ask", {}, { principal: bot });
    const [month] = await engine.budgets({ principal: ana });
    expect([month?.used, month?.alert]).toEqual([credits, alert]);
    expect(month?.exhausted_at).not.toBe(undefined);
  });

  it("is reserved when a call starts and settled to what it cost, and what is left lets the next one through", async () => {
    const stage = newStage();
    const ask = actor("ask", spends(30), { effect: "reads", cost: { usd_micros: 60 } });
    const engine = await stage.open({ tools: [ask.tool], budgets: [daily(100)] });
    expect(await states(engine, stage, "ask", 1)).toEqual(["succeeded"]);
    expect(await used(stage)).toEqual({ "budget/usd_micros/user-day/2023-11-14/bot": 30 });
    expect(await states(engine, stage, "ask", 1)).toEqual(["succeeded"]); // 30 + 60 fits, though 60 + 60 would not.
    expect(await states(engine, stage, "ask", 1)).toEqual(["rejected"]);
    expect(await total(stage)).toBe(60);
    expect(ask.calls).toHaveLength(2);
    await isSound(engine);
  });

  it("refuses on the record, with its limit, what is used, what was asked for and until when", async () => {
    const stage = newStage();
    const ask = actor("ask", spends(60), { effect: "reads", cost: { usd_micros: 60 } });
    const engine = await stage.open({ tools: [ask.tool], budgets: [daily(100)] });
    await states(engine, stage, "ask", 1);
    const run = await engine.submit(one("ask"), { principal: bot });
    await stage.rest(run);
    expect(await eventsOf(run, "step.rejected")).toMatchObject([
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
    expect(await eventsOf(run, "step.started")).toEqual([]);
  });

  it("is never passed by calls that start at once, within a run and across runs", async () => {
    const stage = newStage();
    const open3 = promised<void>();
    const send = actor("send", () => open3.promise, { cost: { usd_micros: 3 } });
    const engine = await stage.open({ tools: [send.tool], budgets: [daily(10)] });
    const steps = Array.from({ length: 4 }, (_, at) => ({ step_id: `s${at}`, name: "send", payload: { at } }));
    const plan = { steps: steps.map((step) => ({ ...step, on_rejected: "continue" })) };
    const runs = await Promise.all([0, 1, 2].map(() => engine.submit(plan, { principal: bot })));
    await stage.pass(0);
    expect(send.calls).toHaveLength(3);
    expect(await total(stage)).toBe(9);
    open3.keep();
    for (const run of runs) await stage.rest(run);
    expect(send.calls).toHaveLength(3);
    expect(await total(stage)).toBe(9);
    await isSound(engine);
  });

  it("records an overrun without limit, which blocks the next", async () => {
    const stage = newStage();
    const ask = actor("ask", spends(500), { effect: "reads", cost: { usd_micros: 10 } });
    const engine = await stage.open({ tools: [ask.tool], budgets: [daily(100)] });
    expect(await states(engine, stage, "ask", 1)).toEqual(["succeeded"]);
    expect(await total(stage)).toBe(500);
    expect(await states(engine, stage, "ask", 1)).toEqual(["rejected"]);
  });

  it("counts what nobody expected, and lets through what costs nothing", async () => {
    const stage = newStage();
    const sum = actor("sum", [spends(100), spends(0)], { effect: "pure" });
    const ask = actor("ask", spends(1), { effect: "reads" });
    const engine = await stage.open({ tools: [sum.tool, ask.tool], budgets: [daily(100)] });
    expect(await states(engine, stage, "sum", 1)).toEqual(["succeeded"]);
    expect(await total(stage)).toBe(100);
    expect(await states(engine, stage, "ask", 1)).toEqual(["rejected"]);
    const run = await engine.submit(one("sum"), { principal: bot });
    expect(await stage.rest(run)).toMatchObject({ status: "completed" });
    expect(await eventsOf(run, "step.started")).toEqual([]); // One append, as without any budget.
  });

  it("lets a tool that says nothing of its cost through while anything is left", async () => {
    const stage = newStage();
    const ask = actor("ask", [spends(99), spends(0), spends(1), spends(1)], { effect: "reads" });
    const engine = await stage.open({ tools: [ask.tool], budgets: [daily(100)] });
    expect([
      await states(engine, stage, "ask", 1),
      await states(engine, stage, "ask", 1),
      await states(engine, stage, "ask", 1),
      await states(engine, stage, "ask", 1),
    ]).toEqual([["succeeded"], ["succeeded"], ["succeeded"], ["rejected"]]);
    expect(await total(stage)).toBe(100);
  });

  it("takes what a tool declares for its cost if its handler says nothing", async () => {
    const stage = newStage();
    const send = actor("send", () => "sent", {
      cost: (input) => ({ usd_micros: Number((input as JsonObject).price) }),
    });
    const engine = await stage.open({ tools: [send.tool], budgets: [daily(100)] });
    const run = await engine.submit(one("send", { payload: { price: 70 } }), { principal: bot });
    expect(await stage.rest(run)).toMatchObject({ status: "completed", spent: { usd_micros: 70 } });
    expect(await total(stage)).toBe(70);
    expect(await engine.spent({ principal: bot, period: "2023-11" })).toMatchObject({ usd_micros: 70 });
  });

  it.each([
    ["NaN", Number.NaN],
    ["less than nothing", -1],
    ["half", 0.5],
    ["more than counts", 2e15],
  ])("refuses a call whose cost is %s", async (_, usd_micros) => {
    const stage = newStage();
    const send = actor("send", () => "sent", { cost: () => ({ usd_micros }) });
    const engine = await stage.open({ tools: [send.tool], budgets: [daily(100)] });
    const run = await engine.submit(one("send"), { principal: bot });
    expect(await stage.rest(run)).toMatchObject({
      steps: { a: { state: "rejected", fault: { code: "TOOL_INVALID" } } },
    });
    expect(send.calls).toHaveLength(0);
  });

  it("is given back what was reserved for an act that did nothing, and charged anew for the next try", async () => {
    const stage = newStage();
    const send = actor("send", [says("RATE_LIMIT"), says("RATE_LIMIT"), () => "sent"], { cost: { usd_micros: 60 } });
    const engine = await stage.open({ tools: [send.tool], budgets: [daily(100)] });
    const run = await engine.submit(one("send"), { principal: bot });
    expect(await stage.rest(run)).toMatchObject({ status: "completed" });
    const charged = (await journalOf(run)).flatMap((event) => ("charges" in event ? (event.charges ?? []) : []));
    const budget = charged.filter(({ tally }) => tally.startsWith("budget/")).map(({ amount }) => amount);
    expect(budget).toEqual([60, -60, 60, -60, 60]);
    expect(await total(stage)).toBe(60);
    await isSound(engine);
  });

  it("keeps what is reserved for an act that was sent again and says of this time only that nothing was done", async () => {
    const stage = newStage();
    const nothing: Deed = (call) => {
      stage.clock.advance(10);
      return says("DEPENDENCY_UNAVAILABLE")(call);
    };
    const send = actor("send", [throws("NETWORK_TIMEOUT"), nothing], {
      cost: { usd_micros: 60 },
      idempotent: { forMs: 600_000 },
      timeoutMs: 1000,
    });
    const engine = await stage.open({ tools: [send.tool], budgets: [daily(100)] });
    const run = await engine.submit(one("send"), { principal: bot });
    await stage.pass(1000);
    expect((await run.now()).steps.a).toMatchObject({ state: "in_doubt" });
    expect(send.calls.length).toBeGreaterThan(1);
    expect(await total(stage)).toBe(60);
    await isSound(engine);
  });

  it("keeps what is reserved for an act in doubt, until it is known that it never happened", async () => {
    const stage = newStage();
    const send = actor("send", [throws("NETWORK_TIMEOUT"), () => "sent"], { cost: { usd_micros: 60 } });
    const engine = await stage.open({ tools: [send.tool], budgets: [daily(100)] });
    const run = await engine.submit(one("send"), { principal: bot });
    expect(await stage.rest(run)).toMatchObject({ steps: { a: { state: "in_doubt" } } });
    expect(await total(stage)).toBe(60);
    expect(await states(engine, stage, "send", 1)).toEqual(["rejected"]);
    await engine.resolve(run.run_id, "a", { principal: ana, as: "absent" });
    expect(await stage.rest(run)).toMatchObject({ status: "completed" }); // It could be paid for again.
    expect(await total(stage)).toBe(60);
    await isSound(engine);
  });

  it.each([
    ["happened", { as: "happened", output: "sent" }],
    ["was given up", { as: "give_up" }],
  ] as const)("keeps what was reserved for an act that %s", async (_, verdict) => {
    const stage = newStage();
    const send = actor("send", throws("NETWORK_TIMEOUT"), { cost: { usd_micros: 60 } });
    const engine = await stage.open({ tools: [send.tool], budgets: [daily(100)] });
    const run = await engine.submit(one("send"), { principal: bot });
    await stage.rest(run);
    await engine.resolve(run.run_id, "a", { principal: ana, ...verdict });
    await stage.rest(run);
    expect(await total(stage)).toBe(60);
  });

  it("keeps what a worker had reserved when it died, and charges the next attempt anew", async () => {
    const stage = newStage();
    const options = { effect: "reads", cost: { usd_micros: 40 } } as const;
    const budgets = [daily(100)];
    const first = await stage.open({ tools: [actor("ask", hang, options).tool], budgets });
    const { run_id } = await first.submit(one("ask"), { principal: bot });
    await stage.pass(0);
    await stage.crash();
    const ask = actor("ask", spends(5), options);
    const engine = await stage.open({ tools: [ask.tool], budgets });
    const run = await engine.run(run_id, { principal: bot });
    expect(await stage.rest(run)).toMatchObject({ status: "completed" });
    expect(await total(stage)).toBe(45);
    await isSound(engine);
  });

  it("keeps what is reserved for a read that was not heard of in its time", async () => {
    const stage = newStage();
    const ask = actor("ask", hang, { effect: "reads", cost: { usd_micros: 40 }, timeoutMs: 1000, tries: 1 });
    const engine = await stage.open({ tools: [ask.tool], budgets: [daily(100)] });
    expect(await states(engine, stage, "ask", 1)).toEqual(["failed_final"]);
    expect(await total(stage)).toBe(40);
  });

  it("settles a value that came late for all that its handler said, to the day on which it started", async () => {
    const stage = newStage();
    stage.clock.advance(Date.UTC(2023, 10, 14, 23, 59, 59, 500) - stage.clock.now());
    const { promise, keep } = promised<void>();
    const slow: Deed = async ({ context }) => {
      context.cost({ usd_micros: 10 });
      await promise;
      context.cost({ usd_micros: 5 });
      return "sent";
    };
    const send = actor("send", slow, { cost: { usd_micros: 60 }, timeoutMs: 1000 });
    const engine = await stage.open({ tools: [send.tool], budgets: [daily(100)] });
    const run = await engine.submit(one("send"), { principal: bot });
    await stage.pass(2000);
    expect(await used(stage)).toEqual({ "budget/usd_micros/user-day/2023-11-14/bot": 60 });
    keep();
    await stage.pass(0);
    expect(await stage.rest(run)).toMatchObject({ status: "completed" });
    expect(await used(stage)).toEqual({ "budget/usd_micros/user-day/2023-11-14/bot": 15 });
    await isSound(engine);
  });

  it("counts anew when the next day has begun where the tenant lives", async () => {
    const stage = newStage();
    stage.clock.advance(Date.UTC(2023, 10, 15, 18) - stage.clock.now());
    const ask = actor("ask", spends(100), { effect: "reads", cost: { usd_micros: 100 } });
    const acme = { mode: "auto_exec", zone: "Asia/Kolkata", budgets: [daily(100)] } as const;
    const engine = await stage.open({ tools: [ask.tool], tenants: { acme } });
    expect(await states(engine, stage, "ask", 2)).toEqual(["rejected", "succeeded"]);
    stage.clock.advance(30 * 60_000); // It is half past six in the afternoon in UTC, and midnight in Calcutta.
    await stage.pass(1000);
    expect(await states(engine, stage, "ask", 2)).toEqual(["rejected", "succeeded"]);
    expect(Object.keys(await used(stage))).toEqual([
      "budget/usd_micros/user-day/2023-11-15[Asia/Kolkata]/bot",
      "budget/usd_micros/user-day/2023-11-16[Asia/Kolkata]/bot",
    ]);
  });

  it("finds what was spent in a window when a clock goes back into it, and settles to the one it began in", async () => {
    const stage = newStage();
    const day = 86_400_000;
    const answer = promised<string>();
    const ask = actor("ask", [spends(100), () => answer.promise, spends(100)], {
      effect: "reads",
      cost: { usd_micros: 100 },
      timeoutMs: 3_600_000,
    });
    const engine = await stage.open({ tools: [ask.tool], budgets: [daily(100)] });
    await engine.call("ask", {}, { principal: bot });
    stage.clock.advance(day);
    const under = await engine.submit(one("ask"), { principal: bot });
    await stage.pass(0);
    stage.clock.advance(-day);
    const late = await engine.submit(one("ask"), { principal: bot });
    expect((await stage.rest(late)).steps.a).toMatchObject({ state: "rejected", fault: { code: "BUDGET_EXCEEDED" } });
    answer.keep("done");
    expect((await stage.rest(under)).status).toBe("completed");
    expect(Object.values(await used(stage))).toEqual([100, 100]);
    expect(ask.calls).toHaveLength(2);
    await isSound(engine);
  });

  it("is each user's own, each tenant's own and each run's own", async () => {
    const stage = newStage();
    const ask = actor("ask", spends(10), { effect: "reads", cost: { usd_micros: 10 } });
    const budgets = [daily(10), daily(20, { per: "tenant-month" }), daily(10, { per: "run" })];
    const engine = await stage.open({ tools: [ask.tool], budgets });
    const state = async (principal: typeof bot) => {
      const run = await engine.submit(one("ask"), { principal });
      return (await stage.rest(run)).steps.a?.state;
    };
    expect(await state(bot)).toBe("succeeded");
    expect(await state(bot)).toBe("rejected"); // Its day is spent.
    expect(await state({ ...bot, id: "other" })).toBe("succeeded");
    expect(await state({ ...bot, id: "third" })).toBe("rejected"); // The tenant's month is spent.
    expect(await state({ ...bot, tenant: "globex" })).toBe("succeeded");
    expect(Object.keys(await used(stage, "budget/usd_micros/run"))).toHaveLength(2);
    await isSound(engine);
  });

  it("limits each call, each tool, calls, tokens and time", async () => {
    const stage = newStage();
    const talk: Deed = ({ context }) => context.cost({ tokens_in: 30, tokens_out: 20 }) ?? "said";
    const ask = actor("ask", talk, {
      effect: "reads",
      cost: (input) => ({ tokens_out: Number((input as JsonObject).max ?? 1) }),
    });
    const sum = actor("sum", () => 1, { effect: "pure" });
    const budgets: readonly Budget[] = [
      { unit: "tokens_out", limit: 50, per: "call" },
      { unit: "tokens", limit: 120, per: "user-hour" },
      { unit: "calls", limit: 2, per: "tenant-day", tool: "sum" },
    ];
    const engine = await stage.open({ tools: [ask.tool, sum.tool], budgets });
    const run = await engine.submit(one("ask", { payload: { max: 51 } }), { principal: bot });
    expect(await stage.rest(run)).toMatchObject({
      steps: { a: { state: "rejected", fault: { code: "BUDGET_EXCEEDED" } } },
    });
    expect(await states(engine, stage, "ask", 1)).toEqual(["succeeded"]);
    expect(await states(engine, stage, "ask", 1)).toEqual(["succeeded"]);
    expect(await states(engine, stage, "ask", 1)).toEqual(["succeeded"]); // 100 are used, and 1 was expected.
    expect(await states(engine, stage, "ask", 1)).toEqual(["rejected"]);
    for (const state of ["succeeded", "succeeded", "rejected"])
      expect(await states(engine, stage, "sum", 1)).toEqual([state]);
    expect(await used(stage)).toEqual({
      "budget/calls:sum/tenant-day/2023-11-14": 2,
      "budget/tokens/user-hour/2023-11-14T22/bot": 150,
    });
  });

  it("counts the time that handlers take", async () => {
    const stage = newStage();
    const nap: Deed = () => new Promise((resolve) => stage.later(4000, () => resolve("rested")));
    const engine = await stage.open({
      tools: [actor("nap", nap, { effect: "reads" }).tool],
      budgets: [{ unit: "ms", limit: 6000, per: "user-day" }],
    });
    for (const state of ["succeeded", "succeeded", "rejected"])
      expect(await states(engine, stage, "nap", 1)).toEqual([state]);
    expect(await total(stage)).toBe(8000);
  });

  it("stays spent when an act is undone, and is no reason not to undo it", async () => {
    const stage = newStage();
    const send = actor("send", () => "sent", { cost: { usd_micros: 100 }, compensate: () => "undone" });
    const budgets = [daily(100), { unit: "calls", limit: 1, per: "user-day" } as const];
    const engine = await stage.open({ tools: [send.tool], budgets });
    const run = await engine.submit(one("send"), { principal: bot });
    await stage.rest(run);
    await engine.resolve(run.run_id, "a", { principal: ana, as: "undo" });
    expect(await stage.rest(run)).toMatchObject({ steps: { a: { state: "compensated" } } });
    expect(await used(stage)).toMatchObject({ "budget/usd_micros/user-day/2023-11-14/bot": 100 });
    await isSound(engine);
  });

  it("burns nothing for a call that is held, denied, or answered from the record", async () => {
    const stage = newStage();
    const send = actor("send", () => "sent", { cost: { usd_micros: 60 }, identity: ["to"], onDuplicate: "reuse" });
    const engine = await stage.open({ tools: [send.tool], budgets: [daily(100)], tenants: {} });
    const plan = one("send", { payload: { to: "ana" } });
    const [held, denied] = [
      await engine.submit(plan, { principal: bot }),
      await engine.submit(plan, { principal: bot }),
    ];
    const [gate] = (await stage.rest(held)).gates;
    const [other] = (await stage.rest(denied)).gates;
    expect(await total(stage)).toBe(0);
    await engine.reject(other?.gate_id as string, { principal: ana });
    await engine.approve(gate?.gate_id as string, { principal: ana });
    expect(await stage.rest(held)).toMatchObject({ status: "completed" });
    expect(await total(stage)).toBe(60);
    const again = await engine.submit(plan, { principal: bot });
    const [third] = (await stage.rest(again)).gates;
    await engine.approve(third?.gate_id as string, { principal: ana });
    expect(await stage.rest(again)).toMatchObject({ status: "completed", steps: { a: { reused: {} } } });
    expect(await total(stage)).toBe(60);
  });

  it("asks nobody about a call that could not be paid for, and an approved one is refused when the money is gone", async () => {
    const stage = newStage();
    const send = actor("send", () => "sent", { cost: { usd_micros: 60 } });
    const engine = await stage.open({ tools: [send.tool], budgets: [daily(100)], tenants: {} });
    const [one1, two] = [
      await engine.submit(one("send"), { principal: bot }),
      await engine.submit(one("send"), { principal: bot }),
    ];
    const gates = [await stage.rest(one1), await stage.rest(two)].map((result) => result.gates[0]?.gate_id as string);
    for (const gate of gates) await engine.approve(gate, { principal: ana });
    expect([await stage.rest(one1), await stage.rest(two)].map(({ steps }) => steps.a?.state).sort()).toEqual([
      "rejected",
      "succeeded",
    ]);
    const third = await engine.submit(one("send"), { principal: bot });
    expect(await stage.rest(third)).toMatchObject({ gates: [], steps: { a: { state: "rejected" } } });
    expect(await eventsOf(third, "gate.opened")).toEqual([]);
  });

  it("is told of in a simulation, which burns nothing", async () => {
    const stage = newStage();
    const send = actor("send", () => "sent", { cost: { usd_micros: 60 } });
    const engine = await stage.open({ tools: [send.tool], budgets: [daily(50)] });
    expect(await engine.simulate(one("send"), { principal: bot })).toMatchObject({
      steps: { a: { would: "fail", fault: { code: "BUDGET_EXCEEDED" } } },
    });
    expect(await used(stage)).toEqual({});
  });

  it("tells how it stands, and what it will come to at this pace", async () => {
    const stage = newStage();
    const ask = actor("ask", spends(30), { effect: "reads", cost: { usd_micros: 60 } });
    const monthly = { unit: "calls", limit: 5, per: "project-month", tool: "ask" } as const;
    const budgets = [daily(100), monthly, daily(70, { per: "call" }), daily(90, { per: "run" })];
    const rates = [{ calls: 4, per: "tenant-minute" }] as const;
    const engine = await stage.open({ tools: [ask.tool], budgets, rates });
    const run = await engine.submit(one("ask"), { principal: bot, project: "website" });
    await stage.rest(run);
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
    const told = await engine.budgets({ principal: ana, by: "bot" });
    expect(told[0]).toEqual({
      ...mine,
      tally: "budget/usd_micros/user-day/2023-11-14/bot",
      window: day,
      forecast: Math.round(30 / passed),
      exhausted_at: null,
      alert: null,
    });
    expect(told.map(({ per }) => per)).toEqual(["user-day", "call", "tenant-minute"]);
    expect(await engine.budgets({ principal: ana })).toMatchObject([{ used: 0, left: 100 }, {}, {}]);
    const all = await engine.budgets({ principal: ana, runId: run.run_id });
    expect(all).toMatchObject([
      { per: "user-day", used: 30 },
      { per: "project-month", tool: "ask", used: 1, left: 4 },
      { per: "call", limit: 70, used: 0, tally: null, window: null, forecast: null },
      { per: "run", used: 30, window: null, forecast: null },
      { of: "rate", unit: "calls", used: 1, left: 3 },
    ]);
    expect(await engine.budgets({ principal: ana, project: "other" })).toMatchObject([{}, { used: 0 }, {}, {}]);
    expect(await engine.budgets({ principal: { ...ana, tenant: "globex" } })).toMatchObject([
      { used: 0 },
      {},
      { used: 0 },
    ]);
    expect(await faultOf(engine.budgets({ principal: ana, by: "" }))).toMatchObject({ code: "INVALID_INPUT" });
    const free = await newStage().open({ tools: [] });
    expect(await free.budgets({ principal: ana })).toEqual([]);
  });

  it.each([
    [{ budgets: [{ unit: "usd", limit: 1, per: "run" }] }, /budgets\[0\] needs unit/],
    [{ budgets: [{ unit: "calls", limit: -1, per: "run" }] }, /budgets\[0\] needs a limit/],
    [{ budgets: [{ unit: "calls", limit: Number.NaN, per: "run" }] }, /needs a limit/],
    [{ budgets: [{ unit: "calls", limit: 2 ** 60, per: "run" }] }, /needs a limit/],
    [{ budgets: [{ unit: "calls", limit: 1.5, per: "run" }] }, /needs a limit/],
    [{ budgets: [{ unit: "calls", limit: 1, per: "week" }] }, /needs per, one of/],
    [{ budgets: [{ unit: "calls", limit: 1, per: "run", tools: "a" }] }, /did you mean tool/],
    [{ budgets: [{ unit: "calls", limit: 1, per: "run", tool: "" }] }, /name of a tool/],
    [{ budgets: { unit: "calls" } }, /budgets must be a list/],
    [{ budgets: [null] }, /must be an object/],
    [{ rates: [{ calls: 0, per: "user-minute" }] }, /rates\[0\] needs calls/],
    [{ rates: [{ calls: 1, per: "run" }] }, /needs per/],
    [{ zone: "Middle/Earth" }, /IANA/],
    [{ tenants: { acme: { zone: 7 } } }, /tenant acme: zone/],
    [{ tenants: { acme: { budgets: [{}] } } }, /tenant acme: budgets\[0\] needs unit/],
  ])("is refused if it makes no sense: %j", async (options, why) => {
    const refused = await faultOf(newStage().open({ tools: [], ...(options as object) }));
    expect(refused).toMatchObject({ code: "CONFIG_INVALID", message: expect.stringMatching(why) });
  });
});
