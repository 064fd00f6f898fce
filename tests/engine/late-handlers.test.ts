import { describe, expect, it } from "vitest";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { deferred, scriptedTool } from "./scripted-tool.ts";

const one = (name: string, more = {}) => ({ steps: [{ step_id: "a", name, ...more }] });
const absent = { verify: async () => ({ saw: "absent" }) as const, timeoutMs: 1000, settleAfter: 60_000 };

describe.each(storeKinds)("handler that outlives its timeout, on $name", ({ newFixture: newStage }) => {
  it("gets its settle time from its start, not from its timeout", async () => {
    const stage = newStage();
    const stuck = deferred<never>();
    const send = scriptedTool("send", [() => stuck.promise, () => ({ id: 2 })], absent);
    const engine = await stage.open({ tools: [send.tool] });
    const run = await engine.submit(one("send"), { principal: botAgent });
    await stage.advance(500_000);
    stuck.keep(Promise.reject(new Error("the line broke")) as never);
    await stage.advance(60_000);
    expect(send.calls).toHaveLength(1);
    await stage.advance(10_000);
    expect(send.calls).toHaveLength(2);
    expect((await run.result()).steps.a).toMatchObject({ state: "succeeded", output: { id: 2 } });
  });

  it("gets the same settle time when it died with its worker", async () => {
    const stage = newStage();
    const send = scriptedTool("send", [() => new Promise(() => {}), () => ({ id: 2 })], absent);
    const first = await stage.open({ tools: [send.tool] });
    const { run_id } = await first.submit(one("send"), { principal: botAgent });
    await stage.advance(200_000);
    await stage.crash();
    const next = await stage.open({ tools: [send.tool] });
    await stage.advance(60_000);
    expect(send.calls).toHaveLength(1);
    await stage.advance(10_000);
    expect((await (await next.run(run_id, { principal: anaPerson })).result()).status).toBe("completed");
    expect(send.calls).toHaveLength(2);
  });
});

describe.each(storeKinds)("report that the engine refuses, on $name", ({ newFixture: newStage }) => {
  it("does not change what the tool has done", async () => {
    const stage = newStage();
    const send = scriptedTool("send", ({ context }) => context.cost({ usd_micros: 0.5 }), { errorsMean: "not_done" });
    const engine = await stage.open({ tools: [send.tool] });
    const run = await engine.submit(one("send", { on_failure: "retry" }), { principal: botAgent });
    await stage.advance(100_000);
    expect((await run.result()).steps.a?.state).toBe("in_doubt");
    expect(send.calls).toHaveLength(1);
  });
});

describe.each(storeKinds)("closed engine, on $name", ({ newFixture: newStage }) => {
  it("executes nothing submitted meanwhile; the next engine does", async () => {
    const stage = newStage();
    const send = scriptedTool("send", () => ({}));
    const engine = await stage.open({ tools: [send.tool] });
    const submitting = engine.submit(one("send"), { principal: botAgent }).catch(() => null);
    await engine.close();
    await submitting;
    expect(send.calls).toHaveLength(0);
  });
});
