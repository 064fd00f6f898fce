import { describe, expect, it } from "vitest";
import type { Json } from "../../src/core/json/json.ts";
import { actor, type Deed, eventsOf, faultOf, hang } from "./cast.ts";
import { bot, places, type Stage } from "./stage.ts";

const one = (name: string) => ({ steps: [{ step_id: "a", name }] });
const rhythm = { timeoutMs: 600_000, heartbeatMs: 1000 } as const;

/** Gives a sign of life every half second, so many times, and then does this. */
const beats =
  (stage: Stage, times: number, then: Deed, details?: (time: number) => Json): Deed =>
  async (call) => {
    for (let time = 1; time <= times; time += 1) {
      await new Promise<void>((resolve) => stage.later(500, resolve));
      call.context.heartbeat(details?.(time));
    }
    return then(call);
  };

describe.each(places)("a tool with a heartbeat, on $name", ({ newStage }) => {
  it("may take as long as its timeout while it gives signs of life", async () => {
    const stage = newStage();
    const look = actor(
      "look",
      beats(stage, 20, () => "seen"),
      { effect: "reads", ...rhythm },
    );
    const engine = await stage.open({ tools: [look.tool] });
    const run = await engine.submit(one("look"), { principal: bot });
    expect(await stage.rest(run)).toMatchObject({ status: "completed", steps: { a: { output: "seen" } } });
    expect(look.calls).toHaveLength(1);
  });

  it("is tried again once it is silent, and the next attempt knows what the last one said", async () => {
    const stage = newStage();
    const script = [beats(stage, 3, hang, (page) => ({ page })), ({ context }) => context.last_heartbeat] as Deed[];
    const look = actor("look", script, { effect: "reads", ...rhythm });
    const engine = await stage.open({ tools: [look.tool] });
    const run = await engine.submit(one("look"), { principal: bot });
    expect(await stage.rest(run)).toMatchObject({ status: "completed", steps: { a: { output: { page: 3 } } } });
    const [failed] = await eventsOf(run, "step.failed");
    expect(failed).toMatchObject({ fault: { code: "TOOL_TIMEOUT" }, heartbeat: { page: 3 } });
    expect(failed?.fault.message).toContain("no sign of life for 1000 ms");
    expect(look.calls[0]?.context.signal.aborted).toBe(true);
    expect(look.calls[0]?.context.last_heartbeat).toBeNull();
  });

  it("is in doubt when it acts, as after a timeout, and says what it had come to", async () => {
    const stage = newStage();
    const send = actor(
      "send",
      beats(stage, 2, hang, (part) => ({ part })),
      { ...rhythm, errorsMean: "not_done" },
    );
    const engine = await stage.open({ tools: [send.tool] });
    const run = await engine.submit(one("send"), { principal: bot });
    await stage.pass(5000);
    expect(await run.result()).toMatchObject({ final: false, steps: { a: { state: "in_doubt" } } });
    expect(await eventsOf(run, "step.doubted")).toMatchObject([{ heartbeat: { part: 2 } }]);
    expect(send.calls).toHaveLength(1);
  });

  it("hands on what was said to a worker that takes the run up after a restart", async () => {
    const stage = newStage();
    const script = [beats(stage, 1, hang, (page) => ({ page })), ({ context }) => context.last_heartbeat] as Deed[];
    const look = actor("look", script, { effect: "reads", ...rhythm });
    const first = await stage.open({ tools: [look.tool], dice: () => 0.999 });
    const { run_id } = await first.submit(one("look"), { principal: bot });
    await stage.pass(2000);
    expect(look.calls).toHaveLength(1);
    await stage.crash();
    const run = await (await stage.open({ tools: [look.tool] })).run(run_id, { principal: bot });
    expect(await stage.rest(run)).toMatchObject({ steps: { a: { output: { page: 1 } } } });
  });

  it("says nothing of it when all goes well, and may beat without a word or without being asked to", async () => {
    const stage = newStage();
    const look = actor("look", ({ context }) => context.heartbeat() ?? context.heartbeat({ page: 1 }) ?? "seen", {
      effect: "reads",
    });
    const engine = await stage.open({ tools: [look.tool] });
    const run = await engine.submit(one("look"), { principal: bot });
    expect(await run.result()).toMatchObject({ status: "completed" });
    expect(JSON.stringify(await eventsOf(run, "step.succeeded"))).not.toContain("page");
  });

  it("is refused what is too large for a sign of life", async () => {
    const stage = newStage();
    const look = actor("look", ({ context }) => context.heartbeat("x".repeat(100_000)), { effect: "reads" });
    const engine = await stage.open({ tools: [look.tool] });
    const { step } = await engine.call("look", {}, { principal: bot });
    expect(step).toMatchObject({ state: "failed_final", fault: { code: "LIMIT_EXCEEDED" } });
  });
});

describe("a heartbeat", () => {
  it("that is slower than the timeout is refused, since it never helps", async () => {
    const made = (async () => actor("look", hang, { effect: "reads", timeoutMs: 1000, heartbeatMs: 1000 }))();
    expect(await faultOf(made)).toMatchObject({ code: "TOOL_INVALID" });
  });
});
