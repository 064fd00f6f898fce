import { describe, expect, it } from "vitest";
import type { Mode } from "../../src/core/values/effect.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { pausableStore } from "./pausable-store.ts";
import { collectEvents, deferred, neverAnswers, rejectedFault, scriptedTool, throwsFault } from "./scripted-tool.ts";

const reads = (name: string, deed: Parameters<typeof scriptedTool>[1] = () => ({ n: 7, list: ["a"] })) =>
  scriptedTool(name, deed, { effect: "reads" });

describe.each(storeKinds)("wait step, on $name", ({ newFixture: newStage }) => {
  it("takes as long as the plan says, survives a restart, and uses no slot", async () => {
    const stage = newStage();
    const look = reads("look");
    const first = await stage.open({ tools: [look.tool] });
    const began = stage.clock.now();
    const steps = [
      { step_id: "pause", kind: "wait", payload: { ms: 120_000 } },
      { step_id: "look", name: "look", depends_on: ["pause"] },
    ];
    const { run_id } = await first.submit({ steps }, { principal: botAgent });
    await stage.advance(0);
    await stage.crash();
    const second = await stage.open({ tools: [look.tool] });
    const run = await second.run(run_id, { principal: botAgent });
    expect(await run.result()).toMatchObject({
      status: "partial",
      final: false,
      blocked_on: [{ step_id: "pause", reason_code: "WAITING_FOR_TIME", until: began + 120_000 }],
    });
    await stage.advance(100_000);
    expect(look.calls).toHaveLength(0);
    await stage.advance(15_000);
    expect((await run.finished()).status).toBe("completed");
    expect(look.calls[0]?.context.now).toBeGreaterThanOrEqual(began + 120_000);
  });

  it("until a past time ends at once", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const steps = [{ step_id: "pause", kind: "wait", payload: { until: stage.clock.now() - 1 } }];
    expect((await (await engine.submit({ steps }, { principal: botAgent })).result()).status).toBe("completed");
  });
});

describe.each(storeKinds)("assertion about an earlier step, on $name", ({ newFixture: newStage }) => {
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
  ])("that holds lets the plan continue: %s %j", async (operator, value) => {
    const engine = await newStage().open({ tools: [reads("look").tool] });
    const steps = [
      { step_id: "look", name: "look" },
      { step_id: "sure", kind: "assertion", payload: claim(operator, value) },
      { step_id: "then", name: "look", preconditions: [claim(operator, value)], depends_on: ["sure"] },
    ];
    expect((await (await engine.submit({ steps }, { principal: botAgent })).result()).status).toBe("completed");
  });

  it("that does not hold fails, ends the plan and names itself", async () => {
    const next = reads("next");
    const engine = await newStage().open({ tools: [reads("look").tool, next.tool] });
    const steps = [
      { step_id: "look", name: "look" },
      { step_id: "sure", kind: "assertion", payload: claim("gt", 7) },
      { step_id: "next", name: "next", depends_on: ["sure"] },
    ];
    const result = await (await engine.submit({ steps }, { principal: botAgent })).result();
    expect(result.steps).toMatchObject({
      sure: { state: "failed_final", fault: { code: "ASSERTION_FAILED" } },
      next: { state: "skipped" },
    });
    expect(JSON.stringify(result.steps.sure)).toContain("/n");
    expect(next.calls).toHaveLength(0);
  });

  it("that does not hold or cannot be compared refuses the step that needs it", async () => {
    const send = scriptedTool("send", () => ({ id: 1 }));
    const engine = await newStage().open({ tools: [reads("look").tool, send.tool] });
    for (const condition of [claim("eq", 8), claim("gt", "six"), claim("exists", undefined, "/m")]) {
      const steps = [
        { step_id: "look", name: "look" },
        { step_id: "send", name: "send", preconditions: [condition] },
      ];
      const run = await engine.submit({ steps }, { principal: botAgent });
      expect((await run.result()).steps.send).toMatchObject({
        state: "rejected",
        fault: { code: "PRECONDITION_FAILED" },
      });
      expect(await collectEvents(run, "step.rejected")).toMatchObject([{ rule: "preconditions" }]);
    }
    expect(send.calls).toHaveLength(0);
  });
});

describe.each(storeKinds)("cancel, on $name", ({ newFixture: newStage }) => {
  it("cancels waiting steps and closes gates for good", async () => {
    const send = scriptedTool("send", () => ({ id: 1 }));
    const engine = await newStage().open({ tools: [send.tool], tenants: {} });
    const steps = [
      { step_id: "send", name: "send" },
      { step_id: "pause", kind: "wait", payload: { ms: 60_000 } },
      { step_id: "last", name: "send", depends_on: ["pause"] },
    ];
    const run = await engine.submit({ steps }, { principal: botAgent });
    const [gate] = (await run.result()).gates;
    await run.cancel({ reason: "changed my mind" });
    const result = await run.result();
    expect(result).toMatchObject({ status: "cancelled", final: true, gates: [], blocked_on: [] });
    expect(Object.values(result.steps).map(({ state }) => state)).toEqual(["cancelled", "cancelled", "cancelled"]);
    expect((await rejectedFault(engine.approve(gate?.gate_id as string, { principal: anaPerson }))).code).toBe(
      "GATE_DECIDED",
    );
    expect(await collectEvents(run, "cancel.requested")).toMatchObject([{ by: "bot", reason: "changed my mind" }]);
    expect((await rejectedFault(engine.resume(run.run_id, { principal: botAgent }))).code).toBe("NOT_POSSIBLE");
    expect(send.calls).toHaveLength(0);
  });

  it("aborts running reads, drops their outcome and retries nothing", async () => {
    const stage = newStage();
    const slow = reads("slow", neverAnswers);
    const flaky = reads("flaky", throwsFault("RATE_LIMIT"));
    const engine = await stage.open({ tools: [slow.tool, flaky.tool] });
    const steps = [
      { step_id: "slow", name: "slow" },
      { step_id: "flaky", name: "flaky" },
    ];
    const run = await engine.submit({ steps }, { principal: botAgent });
    await stage.advance(0);
    await run.cancel();
    expect(await run.result()).toMatchObject({
      status: "cancelled",
      steps: { slow: { state: "cancelled" }, flaky: { state: "cancelled" } },
    });
    expect(slow.calls[0]?.context.signal.aborted).toBe(true);
    await stage.advance(60_000);
    expect(flaky.calls).toHaveLength(1);
  });

  it("stops an admitted act before its call: it is not done and not in doubt", async () => {
    const stage = newStage();
    const { store, pause } = pausableStore(stage.store());
    const send = scriptedTool("send", () => ({ id: 1 }));
    const engine = await stage.open({ tools: [send.tool], store });
    const mark = pause("mark");
    const run = await engine.submit({ steps: [{ step_id: "send", name: "send" }] }, { principal: botAgent });
    await mark.reached;
    await run.cancel({ reason: "enough" });
    mark.resume();
    const { status, steps } = await stage.runUntilIdle(run);
    expect([status, steps.send]).toMatchObject(["cancelled", { state: "failed_final", fault: { code: "CANCELLED" } }]);
    expect(send.calls).toEqual([]);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("keeps succeeded steps", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [reads("look").tool, reads("slow", neverAnswers).tool] });
    const steps = [
      { step_id: "look", name: "look" },
      { step_id: "slow", name: "slow", depends_on: ["look"] },
    ];
    const run = await engine.submit({ steps }, { principal: botAgent });
    await stage.advance(0);
    await run.cancel();
    expect((await run.result()).steps.look).toMatchObject({ state: "succeeded", output: { n: 7 } });
  });

  it("does not end a run while a running act is unsettled", async () => {
    const stage = newStage();
    const answer = deferred<object>();
    const send = scriptedTool("send", () => answer.promise);
    const engine = await stage.open({ tools: [send.tool] });
    const run = await engine.submit({ steps: [{ step_id: "send", name: "send" }] }, { principal: botAgent });
    await stage.advance(0);
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

  it("lets an act that heeds the signal report that nothing was done", async () => {
    const stage = newStage();
    const send = scriptedTool(
      "send",
      ({ context: { signal } }) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    );
    const engine = await stage.open({ tools: [send.tool] });
    const run = await engine.submit({ steps: [{ step_id: "send", name: "send" }] }, { principal: botAgent });
    await stage.advance(0);
    await run.cancel();
    expect((await run.result()).steps.send).toMatchObject({ state: "in_doubt" });
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "absent" });
    expect(await run.result()).toMatchObject({ status: "cancelled", steps: { send: { state: "cancelled" } } });
    expect(send.calls).toHaveLength(1);
  });

  it("happens once, and never to an ended run", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [reads("look").tool] });
    const run = await engine.submit({ steps: [{ step_id: "a", name: "look" }] }, { principal: botAgent });
    await run.result();
    expect((await rejectedFault(run.cancel())).code).toBe("NOT_POSSIBLE");
    const waiting = await engine.submit(
      { steps: [{ step_id: "p", kind: "wait", payload: { ms: 1000 } }] },
      { principal: botAgent },
    );
    await waiting.result();
    await waiting.cancel();
    const before = await stage.dump();
    await waiting.cancel();
    expect(await stage.dump()).toEqual(before);
  });

  it("reaches a run of another process", async () => {
    const stage = newStage();
    const slow = reads("slow", neverAnswers);
    const worker = await stage.open({ tools: [slow.tool] });
    const run = await worker.submit({ steps: [{ step_id: "slow", name: "slow" }] }, { principal: botAgent });
    await stage.advance(0);
    const office = await stage.open({ tools: [], work: false });
    await (await office.run(run.run_id, { principal: botAgent })).cancel({ reason: "from afar" });
    const ended = run.finished();
    await stage.advance(3000);
    expect((await ended).status).toBe("cancelled");
    expect(slow.calls[0]?.context.signal.aborted).toBe(true);
  });
});

describe.each(storeKinds)("deadline, on $name", ({ newFixture: newStage }) => {
  it("refuses steps that have not started by then, and records it", async () => {
    const stage = newStage();
    const look = reads("look");
    const engine = await stage.open({ tools: [look.tool] });
    const steps = [
      { step_id: "pause", kind: "wait", payload: { ms: 10_000 } },
      { step_id: "look", name: "look", depends_on: ["pause"] },
    ];
    const run = await engine.submit({ steps }, { principal: botAgent, deadlineMs: 5000 });
    await stage.advance(15_000);
    expect((await run.finished()).steps.look).toMatchObject({
      state: "rejected",
      fault: { code: "DEADLINE_EXCEEDED" },
    });
    expect(look.calls).toHaveLength(0);
  });

  it("ends running calls: a read fails, an act is in doubt", async () => {
    const stage = newStage();
    const engine = await stage.open({
      tools: [reads("slow", neverAnswers).tool, scriptedTool("send", neverAnswers).tool],
    });
    const run = (name: string) =>
      engine.submit({ steps: [{ step_id: "a", name }] }, { principal: botAgent, deadlineMs: 2000 });
    const [read, act] = await Promise.all([run("slow"), run("send")]);
    await stage.advance(2000);
    expect((await read.result()).steps.a).toMatchObject({
      state: "failed_final",
      fault: { code: "DEADLINE_EXCEEDED" },
    });
    expect((await act.result()).steps.a).toMatchObject({ state: "in_doubt" });
  });

  it("is not extended by a later approval", async () => {
    const stage = newStage();
    const send = scriptedTool("send", () => ({ id: 1 }));
    const engine = await stage.open({ tools: [send.tool], tenants: {} });
    const run = await engine.submit(
      { steps: [{ step_id: "a", name: "send" }] },
      { principal: botAgent, deadlineMs: 1000 },
    );
    const [gate] = (await run.result()).gates;
    await stage.advance(1000);
    await engine.approve(gate?.gate_id as string, { principal: anaPerson });
    expect((await run.result()).steps.a).toMatchObject({ state: "rejected", fault: { code: "DEADLINE_EXCEEDED" } });
    expect(send.calls).toHaveLength(0);
  });
});

describe.each(storeKinds)("mode, on $name", ({ newFixture: newStage }) => {
  const cast = () => {
    const draft = scriptedTool("draft", () => ({ body: "Dear" }), { effect: "writes" });
    const send = scriptedTool("send", () => ({ id: 1 }));
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
    const run = await engine.submit({ steps }, { principal: botAgent, ...(request && { mode: request }) });
    const result = await run.result();
    expect(result.steps.send?.state).toBe(state);
    expect(draft.calls).toHaveLength(1);
    if (state === "rejected") expect(result.steps.send).toMatchObject({ fault: { code: "MODE_FORBIDS" } });
  });

  it("dry_run records what the plan would do, and makes no call that acts", async () => {
    const { tools, send } = cast();
    const engine = await newStage().open({ tools });
    const run = await engine.submit({ steps }, { principal: botAgent, mode: "dry_run" });
    expect((await run.result()).simulation?.steps.send).toMatchObject({ would: "act" });
    expect(send.calls).toHaveLength(0);
  });

  it("that gates acts admits those that the tenant trusts, and no others", async () => {
    const { tools, send } = cast();
    const pay = scriptedTool("pay", () => ({ id: 1 }));
    const engine = await newStage().open({ tools: [...tools, pay.tool], tenants: { acme: { trust: ["send"] } } });
    expect((await (await engine.submit({ steps }, { principal: botAgent })).result()).status).toBe("completed");
    const other = await engine.submit({ steps: [{ step_id: "pay", name: "pay" }] }, { principal: botAgent });
    expect((await other.result()).gates).toHaveLength(1);
    expect(send.calls).toHaveLength(1);
  });

  it("treats a step as an act when the plan declares a stronger effect than its tool", async () => {
    const look = reads("look");
    const engine = await newStage().open({ tools: [look.tool], tenants: {} });
    const run = await engine.submit(
      { steps: [{ step_id: "a", name: "look", effects: ["external_send"] }] },
      { principal: botAgent },
    );
    const [gate] = (await run.result()).gates;
    expect(look.calls).toHaveLength(0);
    await engine.approve(gate?.gate_id as string, { principal: anaPerson });
    expect((await run.result()).status).toBe("completed");
    expect(await collectEvents(run, "step.succeeded")).toMatchObject([{ world: "side_effect_committed" }]);
  });
});
