import { describe, expect, it } from "vitest";
import { actor, hang, throws } from "./cast.ts";
import { bot, places } from "./stage.ts";

describe.each(places)("the transcript of a run, on $name", ({ newStage }) => {
  it("tells what was asked and what came of it, in order, after a crash too", async () => {
    const stage = newStage();
    const look = actor("look", [throws("DEPENDENCY_UNAVAILABLE"), () => ({ found: "beans" })], { effect: "reads" });
    const send = actor("send", hang, { timeoutMs: 1000 });
    const never = actor("never", () => ({}), { effect: "pure", roles: ["boss"] });
    const tools = [look.tool, send.tool, never.tool];
    const engine = await stage.open({ tools });
    const steps = [
      { step_id: "a", name: "look", payload: { for: "seeds" } },
      { step_id: "b", name: "never", depends_on: ["a"], on_rejected: "continue" },
      { step_id: "c", name: "send", bindings: { "/body": { step: "a", path: "/found" } } },
    ];
    const run = await engine.submit({ steps }, { principal: bot });
    await stage.rest(run);
    await stage.crash();
    const again = await stage.open({ tools, work: false });
    const told = await (await again.run(run.run_id, { principal: bot })).transcript();
    expect(told.filter(({ step_id }) => step_id === "a")).toMatchObject([
      { tool: "look", attempt: 1, input: { for: "seeds" }, came: { of_it: "failure" } },
      { attempt: 2, came: { of_it: "answer", output: { found: "beans" }, reused: false } },
    ]);
    expect(told.filter(({ step_id }) => step_id !== "a")).toMatchObject([
      { step_id: "b", attempt: null, came: { of_it: "refusal" } },
      {
        step_id: "c",
        attempt: 1,
        input: { body: "beans" },
        came: { of_it: "doubt", fault: { code: "OUTCOME_UNKNOWN" } },
      },
    ]);
  });
});
