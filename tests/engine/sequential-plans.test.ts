import { describe, expect, it } from "vitest";
import { botAgent, storeKinds } from "./engine-fixture.ts";
import { scriptedTool, throwsFault } from "./scripted-tool.ts";

describe.each(storeKinds)("a sequential plan, on $name", ({ newFixture: newStage }) => {
  it("runs its steps one after another, and continues after a step that is skipped or refused", async () => {
    const log: string[] = [];
    const note = (name: string) => {
      const { tool } = scriptedTool(name, () => log.push(name), { effect: "reads" });
      return tool;
    };
    const bad = scriptedTool("bad", throwsFault("POLICY_DENIED"), { effect: "reads" });
    const engine = await newStage().open({ tools: [note("one"), note("two"), note("three"), bad.tool] });
    const steps = [
      { step_id: "b", name: "two", depends_on: ["a"] },
      { step_id: "a", name: "one" },
      { step_id: "x", name: "bad", on_failure: "skip" },
      {
        step_id: "r",
        name: "one",
        preconditions: [{ step: "a", path: "", operator: "eq", value: "no" }],
        on_rejected: "continue",
      },
      { step_id: "c", name: "three" },
    ];
    const result = await (await engine.submit({ sequential: true, steps }, { principal: botAgent })).result();
    expect(log).toEqual(["one", "two", "three"]);
    expect(result.results.map(({ step_id, state }) => [step_id, state])).toEqual([
      ["b", "succeeded"],
      ["a", "succeeded"],
      ["x", "skipped"],
      ["r", "rejected"],
      ["c", "succeeded"],
    ]);
    expect(result.counts).toMatchObject({ steps: 5, succeeded: 3, rejected: 1, skipped: 1 });
  });

  it("never has two steps at work, whatever order their tools take", async () => {
    let working = 0;
    let most = 0;
    const { tool } = scriptedTool(
      "work",
      async () => {
        working += 1;
        most = Math.max(most, working);
        await Promise.resolve();
        working -= 1;
      },
      { effect: "reads" },
    );
    const engine = await newStage().open({ tools: [tool] });
    const steps = Array.from({ length: 200 }, (_, at) => ({ step_id: `s${at}`, name: "work" }));
    const result = await (await engine.submit({ sequential: true, steps }, { principal: botAgent })).result();
    expect([result.status, most]).toEqual(["completed", 1]);
  });

  it("continues in order after a resume", async () => {
    const log: string[] = [];
    const { tool } = scriptedTool("note", () => log.push("note"), { effect: "reads" });
    const bad = scriptedTool("bad", [throwsFault("POLICY_DENIED"), () => log.push("bad")], { effect: "reads" });
    const engine = await newStage().open({ tools: [tool, bad.tool] });
    const steps = [
      { step_id: "first", name: "bad" },
      { step_id: "second", name: "note" },
      { step_id: "third", name: "note" },
    ];
    const run = await engine.submit({ sequential: true, steps }, { principal: botAgent });
    expect(await run.result()).toMatchObject({ status: "failed" });
    await engine.resume(run.run_id, { principal: botAgent, reason: "mended" });
    expect(await run.result()).toMatchObject({ status: "completed" });
    expect(log).toEqual(["bad", "note", "note"]);
  });

  it("is refused if the field is neither true nor false", async () => {
    const engine = await newStage().open({ tools: [] });
    expect(
      engine.check({ sequential: "yes", steps: [{ step_id: "a", kind: "wait", payload: { ms: 1 } }] }),
    ).toMatchObject({
      ok: false,
      reasons: [{ path: "/sequential", message: "must be true or false" }],
    });
  });
});
