import { describe, expect, it } from "vitest";
import { botAgent, storeKinds } from "./engine-fixture.ts";
import { neverAnswers, scriptedTool, throwsFault } from "./scripted-tool.ts";

describe.each(storeKinds)("transcript of a run, on $name", ({ newFixture: newStage }) => {
  it("lists calls and outcomes in order, also after a crash", async () => {
    const stage = newStage();
    const look = scriptedTool("look", [throwsFault("DEPENDENCY_UNAVAILABLE"), () => ({ found: "beans" })], {
      effect: "reads",
    });
    const send = scriptedTool("send", neverAnswers, { timeoutMs: 1000 });
    const never = scriptedTool("never", () => ({}), { effect: "pure", roles: ["boss"] });
    const tools = [look.tool, send.tool, never.tool];
    const engine = await stage.open({ tools });
    const steps = [
      { step_id: "a", name: "look", payload: { for: "seeds" } },
      { step_id: "b", name: "never", depends_on: ["a"], on_rejected: "continue" },
      { step_id: "c", name: "send", bindings: { "/body": { step: "a", path: "/found" } } },
    ];
    const run = await engine.submit({ steps }, { principal: botAgent });
    await stage.runUntilIdle(run);
    await stage.crash();
    const again = await stage.open({ tools, work: false });
    const told = await (await again.run(run.run_id, { principal: botAgent })).transcript();
    expect(told.filter(({ step_id }) => step_id === "a")).toMatchObject([
      { tool: "look", attempt: 1, input: { for: "seeds" }, outcome: { kind: "failure" } },
      { attempt: 2, outcome: { kind: "answer", output: { found: "beans" }, reused: false } },
    ]);
    expect(told.filter(({ step_id }) => step_id !== "a")).toMatchObject([
      { step_id: "b", attempt: null, outcome: { kind: "refusal" } },
      {
        step_id: "c",
        attempt: 1,
        input: { body: "beans" },
        outcome: { kind: "doubt", fault: { code: "OUTCOME_UNKNOWN" } },
      },
    ]);
  });
});
