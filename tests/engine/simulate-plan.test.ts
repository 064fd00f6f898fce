import { describe, expect, it } from "vitest";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { neverAnswers, rejectedFault, scriptedTool } from "./scripted-tool.ts";

function cast() {
  const look = scriptedTool("look", () => ({ text: "birds" }), { effect: "reads", cache: "use_if_safe" });
  const count = scriptedTool("count", ({ input }) => ({ n: Object.keys(input).length }), { effect: "pure" });
  const send = scriptedTool("send", () => ({ id: "m1" }));
  return { look, count, send, tools: [look.tool, count.tool, send.tool] };
}
const stock = defineSlice({ name: "stock", shape: "map", entry: { type: "integer" } });
const steps = [
  { step_id: "look", name: "look", payload: { q: 1 }, outcome: { type: "Summary.Birds" } },
  { step_id: "count", name: "count", bindings: { "/text": { step: "look", path: "/text" } } },
  { step_id: "send", name: "send", payload: { to: "ana" }, bindings: { "/n": { step: "count", path: "/n" } } },
  { step_id: "more", name: "count", bindings: { "/id": { step: "send", path: "/id" } } },
];

describe.each(storeKinds)("simulation, on $name", ({ newFixture: newStage }) => {
  it("lists acts with their exact input, runs pure tools, and predicts nothing after an act", async () => {
    const { look, count, send, tools } = cast();
    const engine = await newStage().open({ tools });
    await (await engine.submit({ steps: steps.slice(0, 1) }, { principal: botAgent })).result();
    const simulation = await engine.simulate({ steps }, { principal: botAgent });
    expect(simulation).toEqual({
      status: "unknown",
      steps: {
        look: { would: "succeed", output: { text: "birds" } },
        count: { would: "succeed", output: { n: 1 } },
        send: { would: "act", input: { to: "ana", n: 1 }, needs_approval: false },
        more: { would: "unknown", why: expect.stringContaining("send") },
      },
      acts: [{ step_id: "send", tool: "send", input: { to: "ana", n: 1 }, needs_approval: false, reversible: false }],
      gates: [],
      changes: [],
      cost: { least: { usd_micros: 0, credits: 0, tokens_in: 0, tokens_out: 0 }, most: null },
    });
    expect([look, count, send].map(({ calls }) => calls.length)).toEqual([1, 1, 0]);
  });

  it("reports an act that would be held", async () => {
    const { tools } = cast();
    const engine = await newStage().open({ tools, tenants: {} });
    const plan = { steps: [{ step_id: "send", name: "send", payload: { to: "ana" } }] };
    expect((await engine.simulate(plan, { principal: botAgent })).acts).toMatchObject([{ needs_approval: true }]);
  });

  it("reports an act that would be refused", async () => {
    const { tools } = cast();
    const engine = await newStage().open({ tools });
    const plan = { steps: [{ step_id: "send", name: "send" }] };
    const simulation = await engine.simulate(plan, { principal: botAgent, mode: "draft_only" });
    expect(simulation).toMatchObject({
      status: "failed",
      steps: { send: { would: "fail", fault: { code: "MODE_FORBIDS" } } },
      acts: [],
    });
  });

  it("is the result for a tenant in dry_run and for mode dry_run", async () => {
    const { tools, send } = cast();
    const engine = await newStage().open({ tools, tenants: { acme: { mode: "dry_run" } } });
    const plan = { steps: [{ step_id: "send", name: "send" }] };
    const simulation = await engine.simulate(plan, { principal: botAgent, mode: "dry_run" });
    expect(simulation.acts).toHaveLength(1);
    expect((await (await engine.submit(plan, { principal: botAgent })).result()).simulation).toEqual(simulation);
    expect(send.calls).toHaveLength(0);
  });

  it("makes no read: unrecorded reads are unknown, and all are on request", async () => {
    const { look, tools } = cast();
    const engine = await newStage().open({ tools });
    const before = await engine.simulate({ steps }, { principal: botAgent });
    expect(before.steps).toMatchObject({ look: { would: "unknown" }, count: { would: "unknown" } });
    await (await engine.submit({ steps: steps.slice(0, 1) }, { principal: botAgent })).result();
    const none = await engine.simulate({ steps }, { principal: botAgent, reads: "none" });
    expect(none.steps.look).toMatchObject({ would: "unknown" });
    expect(look.calls).toHaveLength(1);
  });

  it("writes nothing: no row, no lease, no charge", async () => {
    const stage = newStage();
    const { tools, send } = cast();
    const spend = scriptedTool(
      "spend",
      ({ context }) => {
        context.cost({ usd_micros: 5 });
        context.notice("spent", {});
        context.errand("send", {});
        return { big: "x".repeat(100_000) };
      },
      { effect: "pure" },
    );
    const told: unknown[] = [];
    const engine = await stage.open({
      tools: [...tools, spend.tool],
      onNotice: async (notice) => void told.push(notice),
    });
    await (await engine.submit({ steps: steps.slice(0, 1) }, { principal: botAgent })).result();
    const before = await stage.dump();
    const simulation = await engine.simulate(
      { intent_id: "i-1", steps: [...steps, { step_id: "spend", name: "spend" }] },
      { principal: botAgent, requestKey: "once" },
    );
    expect(simulation.steps.spend).toMatchObject({ would: "succeed" });
    await stage.advance(60_000);
    expect(await stage.dump()).toEqual(before);
    expect(told).toEqual([]);
    expect(send.calls).toHaveLength(0);
    expect(await engine.spent({ principal: anaPerson, period: "2023-11" })).toMatchObject({ usd_micros: 0 });
  });

  it("sees receipts: an act of another run would be reused or held, not done", async () => {
    const pay = scriptedTool("pay", () => ({ id: "p1" }), { identity: ["invoice"], onDuplicate: "reuse" });
    const wire = scriptedTool("wire", () => ({ id: "w1" }), { identity: ["invoice"] });
    const engine = await newStage().open({ tools: [pay.tool, wire.tool] });
    const paying = {
      steps: [
        { step_id: "pay", name: "pay", payload: { invoice: 1 } },
        { step_id: "wire", name: "wire", payload: { invoice: 1 } },
      ],
    };
    await (await engine.submit(paying, { principal: botAgent })).result();
    expect((await engine.simulate(paying, { principal: botAgent })).steps).toMatchObject({
      pay: { would: "succeed", output: { id: "p1" } },
      wire: { would: "act", needs_approval: true },
    });
    expect([pay, wire].map(({ calls }) => calls.length)).toEqual([1, 1]);
  });

  it("reaches the end of the plan though a step would fail, and reports each", async () => {
    const { tools } = cast();
    const bad = scriptedTool("bad", () => Promise.reject(new Error("no")), { effect: "pure" });
    const engine = await newStage().open({ tools: [...tools, bad.tool] });
    const simulation = await engine.simulate(
      {
        steps: [
          { step_id: "bad", name: "bad" },
          { step_id: "behind", name: "count", depends_on: ["bad"] },
          { step_id: "send", name: "send", payload: {} },
        ],
      },
      { principal: botAgent },
    );
    expect(simulation).toMatchObject({
      status: "failed",
      steps: { bad: { would: "fail" }, behind: { would: "unknown" }, send: { would: "act" } },
    });
  });

  it("refuses an invalid plan as submit does, and ends though the plan waits or needs a decision", async () => {
    const { tools } = cast();
    const slow = scriptedTool("slow", neverAnswers, { effect: "reads" });
    const engine = await newStage().open({ tools: [...tools, slow.tool] });
    expect((await rejectedFault(engine.simulate({ steps: [] }, { principal: botAgent }))).code).toBe("PLAN_INVALID");
    const simulation = await engine.simulate(
      {
        steps: [
          { step_id: "pause", kind: "wait", payload: { ms: 60_000 } },
          { step_id: "gated", name: "count", gate: "human_confirm" },
          { step_id: "slow", name: "slow" },
        ],
      },
      { principal: botAgent },
    );
    expect(Object.values(simulation.steps).map(({ would }) => would)).toEqual(["unknown", "succeed", "unknown"]);
    expect(simulation.gates).toMatchObject([{ step_id: "gated", rule: "plan_gate", demand: { role: null } }]);
  });

  it("leaves the real run of the same plan alone", async () => {
    const stage = newStage();
    const { tools, send } = cast();
    const engine = await stage.open({ tools, tenants: {} });
    const plan = { steps: [{ step_id: "send", name: "send" }] };
    const run = await engine.submit(plan, { principal: botAgent, requestKey: "k" });
    const [gate] = (await run.result()).gates;
    await engine.simulate(plan, { principal: botAgent, requestKey: "k" });
    await engine.approve(gate?.gate_id as string, { principal: anaPerson });
    expect((await run.result()).status).toBe("completed");
    expect(send.calls).toHaveLength(1);
  });

  it("shows the state after the run, also behind an approval, and changes none of it", async () => {
    const stage = newStage();
    const write = scriptedTool(
      "write",
      ({ input, context }) => {
        const all = context.slice(stock);
        all.set("apples", Number(all.get("apples") ?? 0) + Number(input.more));
        return { left: all.get("apples") ?? 0 };
      },
      { effect: "writes" },
    );
    const engine = await stage.open({ tools: [write.tool], slices: [stock] });
    const add = (step_id: string, more: object = {}) => ({ step_id, name: "write", payload: { more: 2 }, ...more });
    await (await engine.submit({ steps: [add("a")] }, { principal: botAgent, project: "shop" })).result();
    const before = await stage.dump();
    const steps = [add("a", { gate: "human_confirm" }), add("b", { depends_on: ["a"] })];
    const simulation = await engine.simulate({ steps }, { principal: botAgent, project: "shop" });
    expect(simulation).toMatchObject({
      status: "completed",
      steps: { b: { would: "succeed", output: { left: 6 } } },
      gates: [{ step_id: "a", tool: "write", rule: "plan_gate" }],
      changes: [{ path: "/stock/apples", before: 2, after: 6 }],
    });
    const alone = await engine.simulate({ steps: [add("a")] }, { principal: botAgent });
    expect(alone.changes).toEqual([{ path: "/stock/apples", after: 2 }]);
    expect(
      (await engine.simulate({ steps: [steps[0]] }, { principal: botAgent, project: "other" })).changes,
    ).toHaveLength(1);
    expect(await stage.dump()).toEqual(before);
  });

  it("continues after an act whose tool predicts its output, and says whether it can be undone", async () => {
    const stage = newStage();
    const { count, tools } = cast();
    const book = scriptedTool("book", () => ({ seat: 7 }), {
      compensate: async () => {},
      cost: { usd_micros: 30 },
      preview: (_input, { slice }) => ({ seat: slice(stock).get("seats") ?? 0 }) as never,
      output: { type: "object", properties: { seat: { type: "integer" } }, required: ["seat"] },
    });
    const engine = await stage.open({ tools: [...tools, book.tool], slices: [stock] });
    const before = await stage.dump();
    const steps = [
      { step_id: "book", name: "book" },
      { step_id: "count", name: "count", bindings: { "/seat": { step: "book", path: "/seat" } } },
    ];
    expect(await engine.simulate({ steps }, { principal: botAgent })).toMatchObject({
      steps: { book: { would: "act", output: { seat: 0 } }, count: { would: "succeed", output: { n: 1 } } },
      acts: [{ step_id: "book", reversible: true, needs_approval: false }],
      cost: { least: { usd_micros: 0 }, most: { usd_micros: 30 } },
    });
    expect([book.calls.length, count.calls.length]).toEqual([0, 1]);
    expect(await stage.dump()).toEqual(before);
  });

  it("names every required approver and the range of the cost", async () => {
    const pay = scriptedTool("pay", () => ({ id: 1 }), {
      cost: (input) => ({ usd_micros: Number((input as { cents: number }).cents) }),
    });
    const policies = [
      {
        schema_version: "1.0",
        name: "house",
        rules: [
          { id: "big", kind: "approval", on: { tools: ["pay"] }, when: "input.cents > 9", role: "cfo", people: 2 },
        ],
      },
    ];
    const engine = await newStage().open({ tools: [pay.tool], policies });
    const steps = [5, 10].map((cents) => ({ step_id: `pay-${cents}`, name: "pay", payload: { cents } }));
    const simulation = await engine.simulate({ steps }, { principal: botAgent });
    expect(simulation.gates).toMatchObject([
      { step_id: "pay-10", rule: "global/house/big", demand: { role: "cfo", people: 2 } },
    ]);
    expect(simulation.acts.map(({ needs_approval }) => needs_approval)).toEqual([false, true]);
    expect(simulation.cost).toMatchObject({ least: { usd_micros: 0 }, most: { usd_micros: 15 } });
  });

  it("makes unrecorded reads on request, each as a run with its cost", async () => {
    const stage = newStage();
    const look = scriptedTool(
      "look",
      ({ context }) => {
        context.cost({ usd_micros: 7 });
        return { text: "birds" };
      },
      { effect: "reads" },
    );
    const { count, send } = cast();
    const engine = await stage.open({ tools: [look.tool, count.tool, send.tool] });
    const simulation = await engine.simulate({ steps: steps.slice(0, 3) }, { principal: botAgent, reads: "live" });
    expect(simulation.steps).toMatchObject({
      look: { would: "succeed", output: { text: "birds" } },
      count: { would: "succeed" },
      send: { would: "act", input: { to: "ana", n: 1 } },
    });
    expect([look.calls.length, send.calls.length]).toEqual([1, 0]);
    const [run, ...more] = await engine.runs({ principal: botAgent });
    expect(more).toEqual([]);
    expect((await engine.cost(run?.run_id ?? "", { principal: botAgent })).spent).toMatchObject({ usd_micros: 7 });
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], tallies: [] });
  });
});
