import { describe, expect, it } from "vitest";
import { expectCleanAudit, finalStepStates, singleCallPlan, usedTallies } from "./budget-fixture.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, scriptedTool, throwsNotDone } from "./scripted-tool.ts";

describe.each(storeKinds)("rate limit, on $name", ({ newFixture: newStage }) => {
  const rates = [{ calls: 2, per: "user-minute", tool: "send" }] as const;

  it("admits its number and the other calls in the next window", async () => {
    const stage = newStage();
    const send = scriptedTool("send", () => "sent");
    const engine = await stage.open({ tools: [send.tool], rates });
    const runs = await Promise.all(
      Array.from({ length: 5 }, () => engine.submit(singleCallPlan("send"), { principal: botAgent })),
    );
    await stage.advance(0);
    expect(send.calls).toHaveLength(2);
    const waiting = (await Promise.all(runs.map((run) => run.now()))).filter(({ final }) => !final);
    const until = (Math.floor(stage.clock.now() / 60_000) + 1) * 60_000;
    expect(waiting.map(({ blocked_on }) => blocked_on)).toEqual(
      [0, 1, 2].map(() => [{ step_id: "a", reason_code: "WAITING_FOR_RATE", until }]),
    );
    await stage.advance(until - stage.clock.now());
    expect(send.calls).toHaveLength(4);
    await stage.advance(60_000);
    expect(send.calls).toHaveLength(5);
    expect(Object.values(await usedTallies(stage, "rate/"))).toEqual([2, 2, 1]);
    await expectCleanAudit(engine);
  });

  it("with a burst admits that many at once, and as many again evenly over its window", async () => {
    const stage = newStage();
    const started: number[] = [];
    const send = scriptedTool("send", () => started.push(stage.clock.now()));
    const engine = await stage.open({ tools: [send.tool], rates: [{ calls: 6, per: "tenant-minute", burst: 2 }] });
    await stage.advance(20_000 - (stage.clock.now() % 20_000));
    const from = stage.clock.now();
    for (let call = 0; call < 7; call += 1) await engine.submit(singleCallPlan("send"), { principal: botAgent });
    for (let second = 0; second < 80; second += 1) await stage.advance(1000);
    const seconds = started.map((at) => Math.floor((at - from) / 1000));
    expect(seconds).toEqual([0, 0, 20, 20, 40, 40, 60]);
    const [limit] = await engine.budgets({ principal: anaPerson });
    expect(limit).toMatchObject({ of: "rate", limit: 2, used: 0, left: 2 });
    await expectCleanAudit(engine);
  });

  it("refuses a call that cannot wait until its deadline", async () => {
    const stage = newStage();
    const send = scriptedTool("send", () => "sent");
    const engine = await stage.open({ tools: [send.tool], rates });
    await finalStepStates(engine, stage, "send", 2);
    const run = await engine.submit(singleCallPlan("send"), { principal: botAgent, deadlineMs: 1000 });
    expect(await stage.runUntilIdle(run)).toMatchObject({
      steps: { a: { state: "rejected", fault: { code: "RATE_EXCEEDED", detail: { limit: 2, used: 2 } } } },
    });
    expect(await collectEvents(run, "step.rejected")).toMatchObject([{ rule: "rate" }]);
  });

  it("charges nothing for held calls and refunds nothing for calls that did nothing", async () => {
    const stage = newStage();
    const send = scriptedTool("send", throwsNotDone("TOOL_FAILED"));
    const engine = await stage.open({ tools: [send.tool], rates, tenants: {} });
    const run = await engine.submit(singleCallPlan("send"), { principal: botAgent });
    const [gate] = (await stage.runUntilIdle(run)).gates;
    expect(await usedTallies(stage, "rate/")).toEqual({});
    await engine.approve(gate?.gate_id as string, { principal: anaPerson });
    await stage.runUntilIdle(run);
    expect(Object.values(await usedTallies(stage, "rate/"))).toEqual([1]);
  });

  it("lets a waiting call be cancelled", async () => {
    const stage = newStage();
    const send = scriptedTool("send", () => "sent");
    const engine = await stage.open({ tools: [send.tool], rates });
    await finalStepStates(engine, stage, "send", 2);
    const run = await engine.submit(singleCallPlan("send"), { principal: botAgent });
    await stage.runUntilIdle(run);
    await run.cancel();
    expect(await stage.runUntilIdle(run)).toMatchObject({ status: "cancelled", final: true });
    await stage.advance(120_000);
    expect(send.calls).toHaveLength(2);
  });

  it("lets a waiting call continue after its worker died", async () => {
    const stage = newStage();
    const send = scriptedTool("send", () => "sent");
    const first = await stage.open({ tools: [send.tool], rates });
    await finalStepStates(first, stage, "send", 2);
    const { run_id } = await first.submit(singleCallPlan("send"), { principal: botAgent });
    await stage.advance(0);
    await stage.crash();
    const engine = await stage.open({ tools: [send.tool], rates });
    const run = await engine.run(run_id, { principal: botAgent });
    await stage.advance(60_000);
    expect(await stage.runUntilIdle(run)).toMatchObject({ status: "completed" });
    expect(send.calls).toHaveLength(3);
  });
});
