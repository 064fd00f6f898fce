import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../src/core/json/canonical-json.ts";
import type { RunHandle } from "../../src/engine/api/engine-api.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, rejectedFault, scriptedTool, throwsNotDone } from "./scripted-tool.ts";

const outreach = JSON.parse(readFileSync(new URL("outreach-plan.json", import.meta.url), "utf8"));
const context = { digest_hash: "d1", cv_hash: "c1", prof_sum_hash: "p1", template_hash: "t1" };

function outreachTools() {
  const summarize = scriptedTool("Professor.Summarize", () => ({ summary: "Works on birds." }), { effect: "reads" });
  const draft = scriptedTool("Email.GenerateDraft", () => ({ body: "Dear Professor" }), { effect: "writes" });
  const send = scriptedTool("Gmail.SendEmail", ({ context: { key } }) => ({ id: key }));
  return { summarize, draft, send, tools: [summarize.tool, draft.tool, send.tool] };
}

describe.each(storeKinds)("outreach plan, on $name", ({ newFixture: newStage }) => {
  it("runs to its gate and, after approval, to its end", async () => {
    const { send, summarize, draft, tools } = outreachTools();
    const engine = await newStage().open({ tools, tenants: {} });
    const run = await engine.submit(outreach, { principal: botAgent, context });
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

    await engine.approve(held.gates[0]?.gate_id as string, { principal: anaPerson, reason: "reads well" });
    expect(await run.result()).toMatchObject({ status: "completed", final: true, blocked_on: [], next: null });
    expect([summarize, draft, send].map(({ calls }) => calls.length)).toEqual([1, 1, 1]);
  });

  it("runs without a person where the tenant allows it, except for the plan's own gate", async () => {
    const { tools } = outreachTools();
    const engine = await newStage().open({ tools });
    const run = await engine.submit(outreach, { principal: botAgent, context });
    expect((await run.result()).gates).toHaveLength(1);
  });

  it("is refused without its context, naming all four placeholders", async () => {
    const { tools } = outreachTools();
    const engine = await newStage().open({ tools });
    const refused = await rejectedFault(engine.submit(outreach, { principal: botAgent }));
    expect(refused.code).toBe("PLAN_INVALID");
    for (const name of Object.keys(context)) expect(refused.message).toContain(name);
    expect(engine.check(outreach)).toMatchObject({ ok: false });
    expect(engine.check(outreach, { context })).toMatchObject({ ok: true });
  });

  it("passes as a strict plan, because every step is declared", async () => {
    const { tools } = outreachTools();
    const engine = await newStage().open({ tools, strictPlans: true });
    expect(engine.check(outreach, { context })).toMatchObject({ ok: true });
    expect(engine.check({ steps: [{ step_id: "s", name: "Professor.Summarize" }] })).toMatchObject({ ok: false });
  });

  it("is one act for equal template values, and is held when another run would repeat it", async () => {
    const { send, tools } = outreachTools();
    const engine = await newStage().open({ tools, tenants: { acme: { trust: ["Gmail.SendEmail"] } } });
    const ungated = { ...outreach, steps: outreach.steps.map((step: object) => ({ ...step, gate: "none" })) };
    const first = await engine.submit(ungated, { principal: botAgent, context, requestKey: "one" });
    expect((await first.result()).status).toBe("completed");
    const second = await engine.submit(ungated, { principal: botAgent, context, requestKey: "two" });
    const held = await second.result();
    expect(held.gates[0]?.reason).toContain(first.run_id);
    expect(send.calls).toHaveLength(1);
  });
});

describe.each(storeKinds)("golden flow, on $name", ({ newFixture: newStage }) => {
  const cached = { effect: "reads", cache: "use_if_safe" } as const;
  const flow = [
    { step_id: "summarize", name: "summarize", payload: { professor: 910 }, outcome: { type: "Summary.Professor" } },
    ...[
      ["align", "summarize", "Alignment.Fit"],
      ["draft", "align", "Draft.Email"],
      ["review", "draft", "Review.Email"],
    ].map(([step_id, step, type]) => ({
      step_id,
      name: step_id,
      bindings: { "/from": { step, path: "/text" } },
      outcome: { type },
    })),
    { step_id: "send", name: "send", bindings: { "/body": { step: "review", path: "/text" } } },
  ];

  it("keeps its drafts through a failure, repeats nothing, and sends only what a person approved", async () => {
    const makers = ["summarize", "align", "draft", "review"].map((name) =>
      scriptedTool(name, ({ input }) => ({ text: `${name}(${String(input.from ?? input.professor)})` }), cached),
    );
    const send = scriptedTool("send", [throwsNotDone("AUTH_FORBIDDEN"), () => ({ id: "m1" })]);
    const engine = await newStage().open({ tools: [...makers.map(({ tool }) => tool), send.tool], tenants: {} });
    const passGate = async (run: RunHandle) => {
      const [gate] = (await run.result()).gates;
      expect(gate?.input).toEqual({ body: "review(draft(align(summarize(910))))" });
      await engine.approve(gate?.gate_id as string, { principal: anaPerson });
      return run.result();
    };
    const failed = await passGate(await engine.submit({ steps: flow }, { principal: botAgent, requestKey: "one" }));
    expect(failed).toMatchObject({ status: "partial", failed: [{ step_id: "send" }] });
    expect(failed.outcomes.map(({ type }) => type)).toEqual([
      "Summary.Professor",
      "Alignment.Fit",
      "Draft.Email",
      "Review.Email",
    ]);
    const sent = await passGate(await engine.submit({ steps: flow }, { principal: botAgent, requestKey: "two" }));
    expect(sent).toMatchObject({ status: "completed", outcomes: failed.outcomes });
    expect(makers.map(({ calls }) => calls.length)).toEqual([1, 1, 1, 1]);
    expect(send.calls).toHaveLength(2);
  });
});

describe.each(storeKinds)("single call, on $name", ({ newFixture: newStage }) => {
  it("is a run of one step", async () => {
    const count = scriptedTool("count", ({ input }) => ({ n: Object.keys(input).length }), { effect: "pure" });
    const send = scriptedTool("send", () => ({ id: 1 }));
    const engine = await newStage().open({ tools: [count.tool, send.tool], tenants: {} });
    const { run_id, step, result } = await engine.call("count", { a: 1, b: 2 }, { principal: botAgent });
    expect(step).toEqual({ state: "succeeded", output: { n: 2 } });
    expect(result).toMatchObject({ run_id, status: "completed" });
    expect((await engine.call("send", {}, { principal: botAgent })).step).toMatchObject({ state: "waiting_approval" });
    const again = await engine.call("count", { a: 1 }, { principal: botAgent, requestKey: "k" });
    expect((await engine.call("count", { a: 1 }, { principal: botAgent, requestKey: "k" })).run_id).toBe(again.run_id);
  });
});

describe.each(storeKinds)("binding, on $name", ({ newFixture: newStage }) => {
  const make = (output: unknown) => scriptedTool("make", () => output, { effect: "reads" });
  const take = () => scriptedTool("take", ({ input }) => input, { effect: "reads" });
  const bound = (bindings: object, payload: object = {}) => ({
    steps: [
      { step_id: "make", name: "make" },
      { step_id: "take", name: "take", payload, bindings },
    ],
  });

  it("copies a value or a part of it to any path of the payload", async () => {
    const taker = take();
    const tools = [make({ list: [{ a: 1 }, { a: 2 }], "odd/key": true }).tool, taker.tool];
    const engine = await newStage().open({ tools });
    const bindings = {
      "/deep/place": { step: "make", path: "/list/1/a" },
      "/rows/0": { step: "make", path: "/odd~1key" },
      "/all": { step: "make", path: "" },
    };
    const run = await engine.submit(bound(bindings, { kept: "x", rows: [null, 7] }), { principal: botAgent });
    expect((await run.result()).status).toBe("completed");
    expect(taker.calls[0]?.input).toEqual({
      kept: "x",
      rows: [true, 7],
      deep: { place: 2 },
      all: { list: [{ a: 1 }, { a: 2 }], "odd/key": true },
    });
  });

  it("copies a digest instead where the plan asks for one", async () => {
    const taker = take();
    const output = { b: [1, 2], a: "é" };
    const engine = await newStage().open({ tools: [make(output).tool, taker.tool] });
    const bindings = { "/sum": { step: "make", path: "", as: "sha256" } };
    await (await engine.submit(bound(bindings), { principal: botAgent })).result();
    expect(taker.calls[0]?.input).toEqual({ sum: hash("sha256", canonicalJson(output)) });
  });

  it("is resolved once: an output that looks like a binding or a template is only text", async () => {
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
    await (await engine.submit(bound(bindings), { principal: botAgent })).result();
    expect(taker.calls[0]?.input).toEqual({ a: sly, b: sly.text });
  });

  it("never treats a template value as a template", async () => {
    const send = scriptedTool("send", () => ({ id: 1 }));
    const engine = await newStage().open({ tools: [send.tool] });
    const submit = (payload: object) =>
      engine.submit(
        { steps: [{ step_id: "s", name: "send", payload, idempotency_template: "t:{a}:{b}" }] },
        { principal: botAgent },
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
    const run = await engine.submit(bound({ "/x": { step: "make", path: "/b" } }), { principal: botAgent });
    expect(await run.result()).toMatchObject({
      status: "partial",
      steps: { take: { state: "rejected", fault: { code: "MISSING_REQUIRED_CONTEXT" } } },
    });
    expect(taker.calls).toHaveLength(0);
  });

  it("of a template to null rejects the step: two acts must not share an empty identity", async () => {
    const send = scriptedTool("send", () => ({ id: 1 }));
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
    const run = await engine.submit({ steps }, { principal: botAgent });
    expect(await run.result()).toMatchObject({
      steps: { send: { state: "rejected", fault: { code: "MISSING_REQUIRED_CONTEXT" } } },
    });
    expect(send.calls).toHaveLength(0);
  });

  it("that breaks the tool's schema rejects the step, and the fault names the path", async () => {
    const input = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
    const taker = scriptedTool("take", () => 1, { effect: "reads", input });
    const engine = await newStage().open({ tools: [make({ n: "seven" }).tool, taker.tool] });
    const run = await engine.submit(bound({ "/n": { step: "make", path: "/n" } }), { principal: botAgent });
    const { steps } = await run.result();
    expect(steps.take).toMatchObject({ state: "rejected", fault: { code: "INVALID_INPUT" } });
    expect(JSON.stringify(steps.take)).toContain("/n");
    expect(await collectEvents(run, "step.rejected")).toMatchObject([{ rule: "input_fits" }]);
  });
});
