import { describe, expect, it } from "vitest";
import type { Mode } from "../../src/core/effect.ts";
import { actor, eventsOf, faultOf, hang, promised, throws } from "./cast.ts";
import { pausing } from "./pauses.ts";
import { ana, bot, places } from "./stage.ts";

const reads = (name: string, deed: Parameters<typeof actor>[1] = () => ({ n: 7, list: ["a"] })) =>
  actor(name, deed, { effect: "reads" });

describe.each(places)("waiting, on $name", ({ newStage }) => {
  it("takes as long as the plan says, survives a restart, and is no one's turn meanwhile", async () => {
    const stage = newStage();
    const look = reads("look");
    const first = await stage.open({ tools: [look.tool] });
    const began = stage.clock.now();
    const steps = [
      { step_id: "pause", kind: "wait", payload: { ms: 120_000 } },
      { step_id: "look", name: "look", depends_on: ["pause"] },
    ];
    const { run_id } = await first.submit({ steps }, { principal: bot });
    await stage.pass(0);
    await stage.crash();
    const second = await stage.open({ tools: [look.tool] });
    const run = await second.run(run_id, { principal: bot });
    expect(await run.result()).toMatchObject({
      status: "partial",
      final: false,
      blocked_on: [{ step_id: "pause", reason_code: "WAITING_FOR_TIME", until: began + 120_000 }],
    });
    await stage.pass(100_000);
    expect(look.calls).toHaveLength(0);
    await stage.pass(15_000);
    expect((await run.finished()).status).toBe("completed");
    expect(look.calls[0]?.context.now).toBeGreaterThanOrEqual(began + 120_000);
  });

  it("until a moment that has passed takes no time at all", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const steps = [{ step_id: "pause", kind: "wait", payload: { until: stage.clock.now() - 1 } }];
    expect((await (await engine.submit({ steps }, { principal: bot })).result()).status).toBe("completed");
  });
});

describe.each(places)("a claim about an earlier step, on $name", ({ newStage }) => {
  const claim = (operator: string, value?: unknown, path = "/n") => ({
    step: "look",
    path,
    operator,
    ...(value !== undefined && { value }),
  });

  it.each([
    ["eq", 7],
    ["neq", 8],
    ["gt", 6],
    ["lte", 7],
    ["exists", undefined],
  ])("that holds lets the plan go on: %s %j", async (operator, value) => {
    const engine = await newStage().open({ tools: [reads("look").tool] });
    const steps = [
      { step_id: "look", name: "look" },
      { step_id: "sure", kind: "assertion", payload: claim(operator, value) },
      { step_id: "then", name: "look", preconditions: [claim(operator, value)], depends_on: ["sure"] },
    ];
    expect((await (await engine.submit({ steps }, { principal: bot })).result()).status).toBe("completed");
  });

  it("that does not hold fails an assertion, ends the plan, and says which", async () => {
    const next = reads("next");
    const engine = await newStage().open({ tools: [reads("look").tool, next.tool] });
    const steps = [
      { step_id: "look", name: "look" },
      { step_id: "sure", kind: "assertion", payload: claim("gt", 7) },
      { step_id: "next", name: "next", depends_on: ["sure"] },
    ];
    const result = await (await engine.submit({ steps }, { principal: bot })).result();
    expect(result.steps).toMatchObject({
      sure: { state: "failed_final", fault: { code: "ASSERTION_FAILED" } },
      next: { state: "skipped" },
    });
    expect(JSON.stringify(result.steps.sure)).toContain("/n");
    expect(next.calls).toHaveLength(0);
  });

  it("that does not hold, or cannot be compared, refuses the step that needs it", async () => {
    const send = actor("send", () => ({ id: 1 }));
    const engine = await newStage().open({ tools: [reads("look").tool, send.tool] });
    for (const condition of [claim("eq", 8), claim("gt", "six"), claim("exists", undefined, "/m")]) {
      const steps = [
        { step_id: "look", name: "look" },
        { step_id: "send", name: "send", preconditions: [condition] },
      ];
      const run = await engine.submit({ steps }, { principal: bot });
      expect((await run.result()).steps.send).toMatchObject({
        state: "rejected",
        fault: { code: "PRECONDITION_FAILED" },
      });
      expect(await eventsOf(run, "step.rejected")).toMatchObject([{ rule: "preconditions" }]);
    }
    expect(send.calls).toHaveLength(0);
  });
});

describe.each(places)("cancelling, on $name", ({ newStage }) => {
  it("ends what waits: steps are cancelled, gates close, and nobody walks through them later", async () => {
    const send = actor("send", () => ({ id: 1 }));
    const engine = await newStage().open({ tools: [send.tool], tenants: {} });
    const steps = [
      { step_id: "send", name: "send" },
      { step_id: "pause", kind: "wait", payload: { ms: 60_000 } },
      { step_id: "last", name: "send", depends_on: ["pause"] },
    ];
    const run = await engine.submit({ steps }, { principal: bot });
    const [gate] = (await run.result()).gates;
    await run.cancel({ reason: "changed my mind" });
    const result = await run.result();
    expect(result).toMatchObject({ status: "cancelled", final: true, gates: [], blocked_on: [] });
    expect(Object.values(result.steps).map(({ state }) => state)).toEqual(["cancelled", "cancelled", "cancelled"]);
    expect((await faultOf(engine.approve(gate?.gate_id as string, { principal: ana }))).code).toBe("GATE_DECIDED");
    expect(await eventsOf(run, "cancel.requested")).toMatchObject([{ by: "bot", reason: "changed my mind" }]);
    expect((await faultOf(engine.resume(run.run_id, { principal: bot }))).code).toBe("NOT_POSSIBLE");
    expect(send.calls).toHaveLength(0);
  });

  it("aborts what runs and drops it, and tries nothing again", async () => {
    const stage = newStage();
    const slow = reads("slow", hang);
    const flaky = reads("flaky", throws("RATE_LIMIT"));
    const engine = await stage.open({ tools: [slow.tool, flaky.tool] });
    const steps = [
      { step_id: "slow", name: "slow" },
      { step_id: "flaky", name: "flaky" },
    ];
    const run = await engine.submit({ steps }, { principal: bot });
    await stage.pass(0);
    await run.cancel();
    expect(await run.result()).toMatchObject({
      status: "cancelled",
      steps: { slow: { state: "cancelled" }, flaky: { state: "cancelled" } },
    });
    expect(slow.calls[0]?.context.signal.aborted).toBe(true);
    await stage.pass(60_000);
    expect(flaky.calls).toHaveLength(1);
  });

  it("stops an act that was let start and is not called yet: it was not done, and nobody asks whether it was", async () => {
    const stage = newStage();
    const { store, pause } = pausing(stage.store());
    const send = actor("send", () => ({ id: 1 }));
    const engine = await stage.open({ tools: [send.tool], store });
    const mark = pause("mark");
    const run = await engine.submit({ steps: [{ step_id: "send", name: "send" }] }, { principal: bot });
    await mark.reached;
    await run.cancel({ reason: "enough" });
    mark.goOn();
    const { status, steps } = await stage.rest(run);
    expect([status, steps.send]).toMatchObject(["cancelled", { state: "failed_final", fault: { code: "CANCELLED" } }]);
    expect(send.calls).toEqual([]);
    expect(await engine.audit({ principal: bot })).toMatchObject({ broken: [] });
  });

  it("keeps what had succeeded", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [reads("look").tool, reads("slow", hang).tool] });
    const steps = [
      { step_id: "look", name: "look" },
      { step_id: "slow", name: "slow", depends_on: ["look"] },
    ];
    const run = await engine.submit({ steps }, { principal: bot });
    await stage.pass(0);
    await run.cancel();
    expect((await run.result()).steps.look).toMatchObject({ state: "succeeded", output: { n: 7 } });
  });

  it("is not said of a run while an act in flight is unsettled", async () => {
    const stage = newStage();
    const answer = promised<object>();
    const send = actor("send", () => answer.promise);
    const engine = await stage.open({ tools: [send.tool] });
    const run = await engine.submit({ steps: [{ step_id: "send", name: "send" }] }, { principal: bot });
    await stage.pass(0);
    await run.cancel();
    expect(await run.result()).toMatchObject({
      status: "partial",
      final: false,
      steps: { send: { state: "in_doubt" } },
    });
    expect(send.calls[0]?.context.signal.aborted).toBe(true);
    answer.keep({ id: "it went out" });
    expect(await run.finished()).toMatchObject({
      status: "cancelled",
      steps: { send: { state: "succeeded", output: { id: "it went out" } } },
    });
  });

  it("lets an act that heeds the signal say that nothing was done", async () => {
    const stage = newStage();
    const send = actor(
      "send",
      ({ context: { signal } }) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    );
    const engine = await stage.open({ tools: [send.tool] });
    const run = await engine.submit({ steps: [{ step_id: "send", name: "send" }] }, { principal: bot });
    await stage.pass(0);
    await run.cancel();
    expect((await run.result()).steps.send).toMatchObject({ state: "in_doubt" });
    await engine.resolve(run.run_id, "send", { principal: ana, as: "absent" });
    expect(await run.result()).toMatchObject({ status: "cancelled", steps: { send: { state: "cancelled" } } });
    expect(send.calls).toHaveLength(1);
  });

  it("happens once, and never to what has ended", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [reads("look").tool] });
    const run = await engine.submit({ steps: [{ step_id: "a", name: "look" }] }, { principal: bot });
    await run.result();
    expect((await faultOf(run.cancel())).code).toBe("NOT_POSSIBLE");
    const waiting = await engine.submit(
      { steps: [{ step_id: "p", kind: "wait", payload: { ms: 1000 } }] },
      { principal: bot },
    );
    await waiting.result();
    await waiting.cancel();
    const before = await stage.dump();
    await waiting.cancel();
    expect(await stage.dump()).toEqual(before);
  });

  it("reaches a run that another process works on", async () => {
    const stage = newStage();
    const slow = reads("slow", hang);
    const worker = await stage.open({ tools: [slow.tool] });
    const run = await worker.submit({ steps: [{ step_id: "slow", name: "slow" }] }, { principal: bot });
    await stage.pass(0);
    const office = await stage.open({ tools: [], work: false });
    await (await office.run(run.run_id, { principal: bot })).cancel({ reason: "from afar" });
    const ended = run.finished();
    await stage.pass(3000);
    expect((await ended).status).toBe("cancelled");
    expect(slow.calls[0]?.context.signal.aborted).toBe(true);
  });
});

describe.each(places)("a deadline, on $name", ({ newStage }) => {
  it("refuses what has not begun by then, on the record", async () => {
    const stage = newStage();
    const look = reads("look");
    const engine = await stage.open({ tools: [look.tool] });
    const steps = [
      { step_id: "pause", kind: "wait", payload: { ms: 10_000 } },
      { step_id: "look", name: "look", depends_on: ["pause"] },
    ];
    const run = await engine.submit({ steps }, { principal: bot, deadlineMs: 5000 });
    await stage.pass(15_000);
    expect((await run.finished()).steps.look).toMatchObject({
      state: "rejected",
      fault: { code: "DEADLINE_EXCEEDED" },
    });
    expect(look.calls).toHaveLength(0);
  });

  it("cuts short what runs: a read fails, an act is in doubt", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [reads("slow", hang).tool, actor("send", hang).tool] });
    const run = (name: string) =>
      engine.submit({ steps: [{ step_id: "a", name }] }, { principal: bot, deadlineMs: 2000 });
    const [read, act] = await Promise.all([run("slow"), run("send")]);
    await stage.pass(2000);
    expect((await read.result()).steps.a).toMatchObject({
      state: "failed_final",
      fault: { code: "DEADLINE_EXCEEDED" },
    });
    expect((await act.result()).steps.a).toMatchObject({ state: "in_doubt" });
  });

  it("is not moved by an approval that comes after it", async () => {
    const stage = newStage();
    const send = actor("send", () => ({ id: 1 }));
    const engine = await stage.open({ tools: [send.tool], tenants: {} });
    const run = await engine.submit({ steps: [{ step_id: "a", name: "send" }] }, { principal: bot, deadlineMs: 1000 });
    const [gate] = (await run.result()).gates;
    await stage.pass(1000);
    await engine.approve(gate?.gate_id as string, { principal: ana });
    expect((await run.result()).steps.a).toMatchObject({ state: "rejected", fault: { code: "DEADLINE_EXCEEDED" } });
    expect(send.calls).toHaveLength(0);
  });
});

describe.each(places)("a mode, on $name", ({ newStage }) => {
  const cast = () => {
    const draft = actor("draft", () => ({ body: "Dear" }), { effect: "writes" });
    const send = actor("send", () => ({ id: 1 }));
    return { draft, send, tools: [draft.tool, send.tool] };
  };
  const steps = [
    { step_id: "draft", name: "draft" },
    { step_id: "send", name: "send", depends_on: ["draft"] },
  ];

  it.each<[Mode | undefined, Mode | undefined, string]>([
    [undefined, undefined, "waiting_approval"],
    [undefined, "auto_exec", "waiting_approval"],
    ["human_gated", "draft_only", "rejected"],
    ["draft_only", "auto_exec", "rejected"],
    ["auto_exec", undefined, "succeeded"],
    ["auto_exec", "human_gated", "waiting_approval"],
    ["auto_exec", "draft_only", "rejected"],
  ])("of tenant %s and request %s: the stricter one leaves an act %s", async (tenant, request, state) => {
    const { tools, draft } = cast();
    const engine = await newStage().open({ tools, tenants: tenant === undefined ? {} : { acme: { mode: tenant } } });
    const run = await engine.submit({ steps }, { principal: bot, ...(request && { mode: request }) });
    const result = await run.result();
    expect(result.steps.send?.state).toBe(state);
    expect(draft.calls).toHaveLength(1);
    if (state === "rejected") expect(result.steps.send).toMatchObject({ fault: { code: "MODE_FORBIDS" } });
  });

  it("of dry run is not submitted but simulated", async () => {
    const stage = newStage();
    const { tools, send } = cast();
    const engine = await stage.open({ tools });
    const before = await stage.dump();
    expect((await faultOf(engine.submit({ steps }, { principal: bot, mode: "dry_run" }))).code).toBe("MODE_FORBIDS");
    expect(await stage.dump()).toEqual(before);
    expect(send.calls).toHaveLength(0);
  });

  it("that gates acts lets those through that the tenant trusts, and no others", async () => {
    const { tools, send } = cast();
    const pay = actor("pay", () => ({ id: 1 }));
    const engine = await newStage().open({ tools: [...tools, pay.tool], tenants: { acme: { trust: ["send"] } } });
    expect((await (await engine.submit({ steps }, { principal: bot })).result()).status).toBe("completed");
    const other = await engine.submit({ steps: [{ step_id: "pay", name: "pay" }] }, { principal: bot });
    expect((await other.result()).gates).toHaveLength(1);
    expect(send.calls).toHaveLength(1);
  });

  it("sees a step as an act when the plan says worse of it than its tool", async () => {
    const look = reads("look");
    const engine = await newStage().open({ tools: [look.tool], tenants: {} });
    const run = await engine.submit(
      { steps: [{ step_id: "a", name: "look", effects: ["external_send"] }] },
      { principal: bot },
    );
    const [gate] = (await run.result()).gates;
    expect(look.calls).toHaveLength(0);
    await engine.approve(gate?.gate_id as string, { principal: ana });
    expect((await run.result()).status).toBe("completed");
    expect(await eventsOf(run, "step.succeeded")).toMatchObject([{ world: "side_effect_committed" }]);
  });
});
