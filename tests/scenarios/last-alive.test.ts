import { describe, expect, it } from "vitest";
import { actor, promised } from "./cast.ts";
import { ana, bot, places } from "./stage.ts";

const one = (name: string, more = {}) => ({ steps: [{ step_id: "a", name, ...more }] });
const absent = { verify: async () => ({ saw: "absent" }) as const, timeoutMs: 1000, settleAfter: 60_000 };

describe.each(places)("a handler that outlives its timeout, on $name", ({ newStage }) => {
  it("is given its time to arrive from when it left, not from when it was given up on", async () => {
    const stage = newStage();
    const stuck = promised<never>();
    const send = actor("send", [() => stuck.promise, () => ({ id: 2 })], absent);
    const engine = await stage.open({ tools: [send.tool] });
    const run = await engine.submit(one("send"), { principal: bot });
    await stage.pass(500_000);
    stuck.keep(Promise.reject(new Error("the line broke")) as never);
    await stage.pass(60_000);
    expect(send.calls).toHaveLength(1);
    await stage.pass(10_000);
    expect(send.calls).toHaveLength(2);
    expect((await run.result()).steps.a).toMatchObject({ state: "succeeded", output: { id: 2 } });
  });

  it("is given the same time when it died with its worker", async () => {
    const stage = newStage();
    const send = actor("send", [() => new Promise(() => {}), () => ({ id: 2 })], absent);
    const first = await stage.open({ tools: [send.tool] });
    const { run_id } = await first.submit(one("send"), { principal: bot });
    await stage.pass(200_000);
    await stage.crash();
    const next = await stage.open({ tools: [send.tool] });
    await stage.pass(60_000);
    expect(send.calls).toHaveLength(1);
    await stage.pass(10_000);
    expect((await (await next.run(run_id, { principal: ana })).result()).status).toBe("completed");
    expect(send.calls).toHaveLength(2);
  });
});

describe.each(places)("what the engine refuses to note down, on $name", ({ newStage }) => {
  it("says nothing about what the tool had done by then", async () => {
    const stage = newStage();
    const send = actor("send", ({ context }) => context.cost({ usd_micros: 0.5 }), { errorsMean: "not_done" });
    const engine = await stage.open({ tools: [send.tool] });
    const run = await engine.submit(one("send", { on_failure: "retry" }), { principal: bot });
    await stage.pass(100_000);
    expect((await run.result()).steps.a?.state).toBe("in_doubt");
    expect(send.calls).toHaveLength(1);
  });
});

describe.each(places)("an engine that is closed, on $name", ({ newStage }) => {
  it("takes up nothing that was submitted meanwhile; the next engine does", async () => {
    const stage = newStage();
    const send = actor("send", () => ({}));
    const engine = await stage.open({ tools: [send.tool] });
    const submitting = engine.submit(one("send"), { principal: bot }).catch(() => null);
    await engine.close();
    await submitting;
    expect(send.calls).toHaveLength(0);
  });
});
