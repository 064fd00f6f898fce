import { describe, expect, it } from "vitest";
import { actor, eventsOf, says } from "./cast.ts";
import { isSound, one, states, used } from "./spending.ts";
import { ana, bot, places } from "./stage.ts";

describe.each(places)("a rate, on $name", ({ newStage }) => {
  const rates = [{ calls: 2, per: "user-minute", tool: "send" }] as const;

  it("lets so many through and the others when the next window begins", async () => {
    const stage = newStage();
    const send = actor("send", () => "sent");
    const engine = await stage.open({ tools: [send.tool], rates });
    const runs = await Promise.all(Array.from({ length: 5 }, () => engine.submit(one("send"), { principal: bot })));
    await stage.pass(0);
    expect(send.calls).toHaveLength(2);
    const waiting = (await Promise.all(runs.map((run) => run.now()))).filter(({ final }) => !final);
    const until = (Math.floor(stage.clock.now() / 60_000) + 1) * 60_000;
    expect(waiting.map(({ blocked_on }) => blocked_on)).toEqual(
      [0, 1, 2].map(() => [{ step_id: "a", reason_code: "WAITING_FOR_RATE", until }]),
    );
    await stage.pass(until - stage.clock.now());
    expect(send.calls).toHaveLength(4);
    await stage.pass(60_000);
    expect(send.calls).toHaveLength(5);
    expect(Object.values(await used(stage, "rate/"))).toEqual([2, 2, 1]);
    await isSound(engine);
  });

  it("refuses what its deadline does not let wait", async () => {
    const stage = newStage();
    const send = actor("send", () => "sent");
    const engine = await stage.open({ tools: [send.tool], rates });
    await states(engine, stage, "send", 2);
    const run = await engine.submit(one("send"), { principal: bot, deadlineMs: 1000 });
    expect(await stage.rest(run)).toMatchObject({
      steps: { a: { state: "rejected", fault: { code: "RATE_EXCEEDED", detail: { limit: 2, used: 2 } } } },
    });
    expect(await eventsOf(run, "step.rejected")).toMatchObject([{ rule: "rate" }]);
  });

  it("takes no token of what is held, and gives none back for what did nothing", async () => {
    const stage = newStage();
    const send = actor("send", says("TOOL_FAILED"));
    const engine = await stage.open({ tools: [send.tool], rates, tenants: {} });
    const run = await engine.submit(one("send"), { principal: bot });
    const [gate] = (await stage.rest(run)).gates;
    expect(await used(stage, "rate/")).toEqual({});
    await engine.approve(gate?.gate_id as string, { principal: ana });
    await stage.rest(run);
    expect(Object.values(await used(stage, "rate/"))).toEqual([1]);
  });

  it("can be cancelled while it waits", async () => {
    const stage = newStage();
    const send = actor("send", () => "sent");
    const engine = await stage.open({ tools: [send.tool], rates });
    await states(engine, stage, "send", 2);
    const run = await engine.submit(one("send"), { principal: bot });
    await stage.rest(run);
    await run.cancel();
    expect(await stage.rest(run)).toMatchObject({ status: "cancelled", final: true });
    await stage.pass(120_000);
    expect(send.calls).toHaveLength(2);
  });

  it("goes on after its worker died", async () => {
    const stage = newStage();
    const send = actor("send", () => "sent");
    const first = await stage.open({ tools: [send.tool], rates });
    await states(first, stage, "send", 2);
    const { run_id } = await first.submit(one("send"), { principal: bot });
    await stage.pass(0);
    await stage.crash();
    const engine = await stage.open({ tools: [send.tool], rates });
    const run = await engine.run(run_id, { principal: bot });
    await stage.pass(60_000);
    expect(await stage.rest(run)).toMatchObject({ status: "completed" });
    expect(send.calls).toHaveLength(3);
  });
});
