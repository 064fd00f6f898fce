import { describe, expect, it } from "vitest";
import type { Json } from "../../src/core/values/json.ts";
import { botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { collectEvents, neverAnswers, rejectedFault, scriptedTool, type ToolBehaviour } from "./scripted-tool.ts";

const one = (name: string) => ({ steps: [{ step_id: "a", name }] });
const rhythm = { timeoutMs: 600_000, heartbeatMs: 1000 } as const;

/** Sends a heartbeat every half second, `times` times, and then behaves as `then`. */
const beats =
  (stage: EngineFixture, times: number, then: ToolBehaviour, details?: (time: number) => Json): ToolBehaviour =>
  async (call) => {
    for (let time = 1; time <= times; time += 1) {
      await new Promise<void>((resolve) => stage.schedule(500, resolve));
      call.context.heartbeat(details?.(time));
    }
    return then(call);
  };

describe.each(storeKinds)("tool with a heartbeat, on $name", ({ newFixture: newStage }) => {
  it("may run up to its timeout while it sends heartbeats", async () => {
    const stage = newStage();
    const look = scriptedTool(
      "look",
      beats(stage, 20, () => "seen"),
      { effect: "reads", ...rhythm },
    );
    const engine = await stage.open({ tools: [look.tool] });
    const run = await engine.submit(one("look"), { principal: botAgent });
    expect(await stage.runUntilIdle(run)).toMatchObject({ status: "completed", steps: { a: { output: "seen" } } });
    expect(look.calls).toHaveLength(1);
  });

  it("is retried once it is silent, and the next attempt gets the last heartbeat", async () => {
    const stage = newStage();
    const script = [
      beats(stage, 3, neverAnswers, (page) => ({ page })),
      ({ context }) => context.last_heartbeat,
    ] as ToolBehaviour[];
    const look = scriptedTool("look", script, { effect: "reads", ...rhythm });
    const engine = await stage.open({ tools: [look.tool] });
    const run = await engine.submit(one("look"), { principal: botAgent });
    expect(await stage.runUntilIdle(run)).toMatchObject({ status: "completed", steps: { a: { output: { page: 3 } } } });
    const [failed] = await collectEvents(run, "step.failed");
    expect(failed).toMatchObject({ fault: { code: "TOOL_TIMEOUT" }, heartbeat: { page: 3 } });
    expect(failed?.fault.message).toContain("sent no heartbeat for 1000 ms");
    expect(look.calls[0]?.context.signal.aborted).toBe(true);
    expect(look.calls[0]?.context.last_heartbeat).toBeNull();
  });

  it("that acts is in doubt once it is silent, with its last heartbeat", async () => {
    const stage = newStage();
    const send = scriptedTool(
      "send",
      beats(stage, 2, neverAnswers, (part) => ({ part })),
      { ...rhythm, errorsMean: "not_done" },
    );
    const engine = await stage.open({ tools: [send.tool] });
    const run = await engine.submit(one("send"), { principal: botAgent });
    await stage.advance(5000);
    expect(await run.result()).toMatchObject({ final: false, steps: { a: { state: "in_doubt" } } });
    expect(await collectEvents(run, "step.doubted")).toMatchObject([{ heartbeat: { part: 2 } }]);
    expect(send.calls).toHaveLength(1);
  });

  it("passes the last heartbeat to the worker that takes the run after a restart", async () => {
    const stage = newStage();
    const script = [
      beats(stage, 1, neverAnswers, (page) => ({ page })),
      ({ context }) => context.last_heartbeat,
    ] as ToolBehaviour[];
    const look = scriptedTool("look", script, { effect: "reads", ...rhythm });
    const first = await stage.open({ tools: [look.tool], dice: () => 0.999 });
    const { run_id } = await first.submit(one("look"), { principal: botAgent });
    await stage.advance(2000);
    expect(look.calls).toHaveLength(1);
    await stage.crash();
    const run = await (await stage.open({ tools: [look.tool] })).run(run_id, { principal: botAgent });
    expect(await stage.runUntilIdle(run)).toMatchObject({ steps: { a: { output: { page: 1 } } } });
  });

  it("records no heartbeat on success, and may send one without data or without a declaration", async () => {
    const stage = newStage();
    const look = scriptedTool(
      "look",
      ({ context }) => context.heartbeat() ?? context.heartbeat({ page: 1 }) ?? "seen",
      {
        effect: "reads",
      },
    );
    const engine = await stage.open({ tools: [look.tool] });
    const run = await engine.submit(one("look"), { principal: botAgent });
    expect(await run.result()).toMatchObject({ status: "completed" });
    expect(JSON.stringify(await collectEvents(run, "step.succeeded"))).not.toContain("page");
  });

  it("is refused a heartbeat above the size limit", async () => {
    const stage = newStage();
    const look = scriptedTool("look", ({ context }) => context.heartbeat("x".repeat(100_000)), { effect: "reads" });
    const engine = await stage.open({ tools: [look.tool] });
    const { step } = await engine.call("look", {}, { principal: botAgent });
    expect(step).toMatchObject({ state: "failed_final", fault: { code: "LIMIT_EXCEEDED" } });
  });
});

describe("heartbeat interval", () => {
  it("longer than the timeout is refused", async () => {
    const made = (async () =>
      scriptedTool("look", neverAnswers, { effect: "reads", timeoutMs: 1000, heartbeatMs: 1000 }))();
    expect(await rejectedFault(made)).toMatchObject({ code: "TOOL_INVALID" });
  });
});
