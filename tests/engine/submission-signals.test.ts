import { describe, expect, it } from "vitest";
import { botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, scriptedTool } from "./scripted-tool.ts";

describe.each(storeKinds)("the signal of a submission, on $name", ({ newFixture: newStage }) => {
  const opened = async () => {
    const stage = newStage();
    const look = scriptedTool("look", () => 1, { effect: "reads" });
    return { stage, look, engine: await stage.open({ tools: [look.tool] }) };
  };
  const steps = [
    { step_id: "wait", kind: "wait", payload: { signal: "go" } },
    { step_id: "look", name: "look", depends_on: ["wait"] },
  ];

  it("cancels the run on record when it aborts", async () => {
    const { engine, look } = await opened();
    const caller = new AbortController();
    const run = await engine.submit({ steps }, { principal: botAgent, signal: caller.signal });
    expect((await run.result()).final).toBe(false);
    caller.abort();
    expect(await run.finished()).toMatchObject({ status: "cancelled", counts: { cancelled: 2 } });
    expect(await collectEvents(run, "cancel.requested")).toMatchObject([
      { by: "bot", reason: "the signal of its submission was aborted" },
    ]);
    expect(look.calls).toHaveLength(0);
  });

  it("changes nothing after the end of the run", async () => {
    const { engine } = await opened();
    const caller = new AbortController();
    const plan = { steps: [{ step_id: "look", name: "look" }] };
    const run = await engine.submit(plan, { principal: botAgent, signal: caller.signal });
    await run.finished();
    caller.abort();
    expect((await run.now()).status).toBe("completed");
  });

  it("that was aborted before stores nothing, and anything else is refused", async () => {
    const { engine } = await opened();
    const submit = (signal: unknown) =>
      engine.submit({ steps }, { principal: botAgent, signal: signal as AbortSignal });
    await expect(submit(AbortSignal.abort())).rejects.toMatchObject({ fault: { code: "CANCELLED" } });
    await expect(submit("stop")).rejects.toMatchObject({ fault: { code: "INVALID_INPUT" } });
    expect(await engine.runs({ principal: botAgent })).toEqual([]);
  });
});
