import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { canonical } from "../../src/core/canonical.ts";
import { actor, eventsOf, faultOf } from "./cast.ts";
import { ana, bot, places } from "./stage.ts";

const outreach = JSON.parse(readFileSync(new URL("outreach-plan.json", import.meta.url), "utf8"));
const context = { digest_hash: "d1", cv_hash: "c1", prof_sum_hash: "p1", template_hash: "t1" };

function outreachTools() {
  const summarize = actor("Professor.Summarize", () => ({ summary: "Works on birds." }), { effect: "reads" });
  const draft = actor("Email.GenerateDraft", () => ({ body: "Dear Professor" }), { effect: "writes" });
  const send = actor("Gmail.SendEmail", ({ context: { key } }) => ({ id: key }));
  return { summarize, draft, send, tools: [summarize.tool, draft.tool, send.tool] };
}

describe.each(places)("the outreach plan, on $name", ({ newStage }) => {
  it("runs to its gate and, once a person has said yes, to its end", async () => {
    const { send, summarize, draft, tools } = outreachTools();
    const engine = await newStage().open({ tools, tenants: {} });
    const run = await engine.submit(outreach, { principal: bot, context });
    const held = await run.result();
    expect(held).toMatchObject({
      status: "partial",
      final: false,
      plan_id: "plan-uuid",
      steps: { s1: { state: "succeeded" }, s2: { state: "succeeded" }, s3: { state: "waiting_approval" } },
      blocked_on: [{ step_id: "s3", reason_code: "REQUIRES_APPROVAL", gate_id: held.gates[0]?.gate_id }],
      gates: [{ step_id: "s3", tool: "Gmail.SendEmail", input: { draft_outcome_id: "out-..." } }],
      next: `approve or reject gate ${held.gates[0]?.gate_id}`,
    });
    expect(send.calls).toHaveLength(0);

    await engine.approve(held.gates[0]?.gate_id as string, { principal: ana, reason: "reads well" });
    expect(await run.result()).toMatchObject({ status: "completed", final: true, blocked_on: [], next: null });
    expect([summarize, draft, send].map(({ calls }) => calls.length)).toEqual([1, 1, 1]);
  });

  it("runs without a person where the tenant allows it, but for the gate that the plan itself asks for", async () => {
    const { tools } = outreachTools();
    const engine = await newStage().open({ tools });
    const run = await engine.submit(outreach, { principal: bot, context });
    expect((await run.result()).gates).toHaveLength(1);
  });

  it("is refused without its context, naming all four placeholders, and nothing is stored", async () => {
    const stage = newStage();
    const { tools } = outreachTools();
    const engine = await stage.open({ tools });
    const before = await stage.dump();
    const refused = await faultOf(engine.submit(outreach, { principal: bot }));
    expect(refused.code).toBe("PLAN_INVALID");
    for (const name of Object.keys(context)) expect(refused.message).toContain(name);
    expect(await stage.dump()).toEqual(before);
    expect(engine.check(outreach)).toMatchObject({ ok: false });
    expect(engine.check(outreach, { context })).toMatchObject({ ok: true });
  });

  it("passes for a strict plan, because every step declares itself", async () => {
    const { tools } = outreachTools();
    const engine = await newStage().open({ tools, strictPlans: true });
    expect(engine.check(outreach, { context })).toMatchObject({ ok: true });
    expect(engine.check({ steps: [{ step_id: "s", name: "Professor.Summarize" }] })).toMatchObject({ ok: false });
  });

  it("is the same act for the same template values, and is held when another run would repeat it", async () => {
    const { send, tools } = outreachTools();
    const engine = await newStage().open({ tools, tenants: { acme: { trust: ["Gmail.SendEmail"] } } });
    const ungated = { ...outreach, steps: outreach.steps.map((step: object) => ({ ...step, gate: "none" })) };
    const first = await engine.submit(ungated, { principal: bot, context, requestKey: "one" });
    expect((await first.result()).status).toBe("completed");
    const second = await engine.submit(ungated, { principal: bot, context, requestKey: "two" });
    const held = await second.result();
    expect(held.gates[0]?.reason).toContain(first.run_id);
    expect(send.calls).toHaveLength(1);
  });
});

describe.each(places)("a binding, on $name", ({ newStage }) => {
  const make = (output: unknown) => actor("make", () => output, { effect: "reads" });
  const take = () => actor("take", ({ input }) => input, { effect: "reads" });
  const bound = (bindings: object, payload: object = {}) => ({
    steps: [
      { step_id: "make", name: "make" },
      { step_id: "take", name: "take", payload, bindings },
    ],
  });

  it("hands a value over, whole or in part, into any place of the payload", async () => {
    const taker = take();
    const tools = [make({ list: [{ a: 1 }, { a: 2 }], "odd/key": true }).tool, taker.tool];
    const engine = await newStage().open({ tools });
    const bindings = {
      "/deep/place": { step: "make", path: "/list/1/a" },
      "/rows/0": { step: "make", path: "/odd~1key" },
      "/all": { step: "make", path: "" },
    };
    const run = await engine.submit(bound(bindings, { kept: "x", rows: [null, 7] }), { principal: bot });
    expect((await run.result()).status).toBe("completed");
    expect(taker.calls[0]?.input).toEqual({
      kept: "x",
      rows: [true, 7],
      deep: { place: 2 },
      all: { list: [{ a: 1 }, { a: 2 }], "odd/key": true },
    });
  });

  it("hands over a digest instead where the plan asks for one", async () => {
    const taker = take();
    const output = { b: [1, 2], a: "é" };
    const engine = await newStage().open({ tools: [make(output).tool, taker.tool] });
    const bindings = { "/sum": { step: "make", path: "", as: "sha256" } };
    await (await engine.submit(bound(bindings), { principal: bot })).result();
    expect(taker.calls[0]?.input).toEqual({ sum: hash("sha256", canonical(output)) });
  });

  it("is read once: a result that looks like a binding or a template is only text", async () => {
    const taker = take();
    const sly = {
      step: "make",
      path: "/secret",
      as: "value",
      text: "{secret} {{secret}} $secret",
      secret: "s3",
    };
    const engine = await newStage().open({ tools: [make(sly).tool, taker.tool] });
    const bindings = { "/a": { step: "make", path: "" }, "/b": { step: "make", path: "/text" } };
    await (await engine.submit(bound(bindings), { principal: bot })).result();
    expect(taker.calls[0]?.input).toEqual({ a: sly, b: sly.text });
  });

  it("never lets a value of a template be read as a template", async () => {
    const send = actor("send", () => ({ id: 1 }));
    const engine = await newStage().open({ tools: [send.tool] });
    const submit = (payload: object) =>
      engine.submit(
        { steps: [{ step_id: "s", name: "send", payload, idempotency_template: "t:{a}:{b}" }] },
        { principal: bot },
      );
    for (const payload of [
      { a: "{b}", b: "x" },
      { a: "x", b: "x" },
      { a: "x:x", b: "" },
      { a: "x", b: "x:" },
    ])
      expect((await (await submit(payload)).result()).status).toBe("completed");
    expect(new Set(send.calls.map(({ context: { key } }) => key)).size).toBe(4);
  });

  it("without a value rejects the step, which then never runs", async () => {
    const taker = take();
    const engine = await newStage().open({ tools: [make({ a: 1 }).tool, taker.tool] });
    const run = await engine.submit(bound({ "/x": { step: "make", path: "/b" } }), { principal: bot });
    expect(await run.result()).toMatchObject({
      status: "partial",
      steps: { take: { state: "rejected", fault: { code: "MISSING_REQUIRED_CONTEXT" } } },
    });
    expect(taker.calls).toHaveLength(0);
  });

  it("to a template that turns out to be null rejects the step: two acts must not share an empty name", async () => {
    const send = actor("send", () => ({ id: 1 }));
    const engine = await newStage().open({ tools: [make({ id: null }).tool, send.tool] });
    const steps = [
      { step_id: "make", name: "make" },
      {
        step_id: "send",
        name: "send",
        bindings: { "/id": { step: "make", path: "/id" } },
        idempotency_template: "send:{id}",
      },
    ];
    const run = await engine.submit({ steps }, { principal: bot });
    expect(await run.result()).toMatchObject({
      steps: { send: { state: "rejected", fault: { code: "MISSING_REQUIRED_CONTEXT" } } },
    });
    expect(send.calls).toHaveLength(0);
  });

  it("that breaks the tool's schema rejects the step, and the fault says where", async () => {
    const input = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
    const taker = actor("take", () => 1, { effect: "reads", input });
    const engine = await newStage().open({ tools: [make({ n: "seven" }).tool, taker.tool] });
    const run = await engine.submit(bound({ "/n": { step: "make", path: "/n" } }), { principal: bot });
    const { steps } = await run.result();
    expect(steps.take).toMatchObject({ state: "rejected", fault: { code: "INVALID_INPUT" } });
    expect(JSON.stringify(steps.take)).toContain("/n");
    expect(await eventsOf(run, "step.rejected")).toMatchObject([{ rule: "input_fits" }]);
  });
});
