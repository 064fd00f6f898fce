import { describe, expect, it } from "vitest";
import { botAgent, storeKinds } from "./engine-fixture.ts";
import { scriptedTool, throwsFault } from "./scripted-tool.ts";

describe.each(storeKinds)("a step for each item of a list, on $name", ({ newFixture: newStage }) => {
  const people = [{ name: "ana" }, { name: "bob" }, { name: "eve" }];
  const each = { name: "greet", payload: { word: "hi" }, bindings: { "/who": { item: "/name" } } };
  const greet = () => scriptedTool("greet", ({ input }) => `${input.word} ${input.who}`, { effect: "reads" });

  it("is one call per item, with the outputs in the order of the items", async () => {
    const list = scriptedTool("list", () => ({ people }), { effect: "reads" });
    const tool = greet();
    const engine = await newStage().open({ tools: [list.tool, tool.tool] });
    const steps = [
      { step_id: "list", name: "list" },
      {
        step_id: "all",
        kind: "for_each",
        payload: { each },
        bindings: { "/items": { step: "list", path: "/people" } },
      },
      {
        step_id: "end",
        name: "greet",
        bindings: { "/who": { step: "all", path: "/items/2" } },
        payload: { word: "so" },
      },
    ];
    const result = await (await engine.submit({ steps }, { principal: botAgent })).finished();
    expect(result.steps.all?.output).toMatchObject({ status: "completed", items: ["hi ana", "hi bob", "hi eve"] });
    expect(result.steps.end?.output).toBe("so hi eve");
    expect(tool.calls).toHaveLength(4);
  });

  it("has no output for an item that was skipped, and none at all for an empty list", async () => {
    const { tool } = scriptedTool("greet", [() => 1, throwsFault("POLICY_DENIED"), () => 3], { effect: "reads" });
    const engine = await newStage().open({ tools: [tool] });
    const some = { items: [1, 2, 3], each: { name: "greet", on_failure: "skip" }, sequential: true };
    const none = { items: [], each: { name: "greet" } };
    const steps = [
      { step_id: "some", kind: "for_each", payload: some },
      { step_id: "none", kind: "for_each", payload: none },
    ];
    const result = await (await engine.submit({ steps }, { principal: botAgent })).finished();
    expect(result.steps.some?.output).toMatchObject({ items: [1, null, 3] });
    expect(result.steps.none?.output).toEqual({ run_id: null, status: "completed", items: [], failed: [] });
  });

  it("fails with the failures of its items, and repeats only those after a resume", async () => {
    const deeds = [() => "one", throwsFault("POLICY_DENIED"), () => "two"];
    const tool = scriptedTool("greet", deeds, { effect: "reads" });
    const stage = newStage();
    const engine = await stage.open({ tools: [tool.tool] });
    const payload = { items: [1, 2], each: { name: "greet" }, sequential: true };
    const run = await engine.submit(
      { steps: [{ step_id: "all", kind: "for_each", payload }] },
      { principal: botAgent },
    );
    expect((await run.finished()).failed).toMatchObject([{ step_id: "all", fault: { code: "CHILD_FAILED" } }]);
    await stage.advance(500);
    await engine.resume(run.run_id, { principal: botAgent, reason: "mended" });
    for (let looks = 0; looks < 60 && !(await run.now()).final; looks += 1) await stage.advance(500);
    expect((await run.now()).steps.all?.output).toMatchObject({ items: ["one", "two"] });
    expect(tool.calls).toHaveLength(3);
  });

  it("is refused for more items than its limit, before the first call", async () => {
    const list = scriptedTool("list", () => Array.from({ length: 101 }, (_, at) => at), { effect: "reads" });
    const tool = greet();
    const engine = await newStage().open({ tools: [list.tool, tool.tool] });
    const steps = [
      { step_id: "list", name: "list" },
      { step_id: "all", kind: "for_each", payload: { each }, bindings: { "/items": { step: "list", path: "" } } },
    ];
    const result = await (await engine.submit({ steps }, { principal: botAgent })).finished();
    expect(result.steps.all).toMatchObject({
      state: "rejected",
      fault: { code: "LIMIT_EXCEEDED", message: "all: 101 items, and the limit of the step is 100" },
    });
    expect(tool.calls).toHaveLength(0);
  });

  it.each([
    ["no template", { items: [] }],
    ["an unknown tool", { items: [], each: { name: "nope" } }],
    ["an unknown field", { items: [], each: { name: "greet", depends_on: [] } }],
    ["a list in a list", { items: [], each: { kind: "for_each", payload: {} } }],
    ["a binding to a step", { items: [], each: { name: "greet", bindings: { "/who": { step: "a", path: "" } } } }],
    ["no list", { each: { name: "greet" } }],
    ["a text as list", { items: "ana", each: { name: "greet" } }],
    ["too high a limit", { items: [], each: { name: "greet" }, most: 1001 }],
  ])("is refused with %s", async (_, payload) => {
    const engine = await newStage().open({ tools: [greet().tool] });
    expect(engine.check({ steps: [{ step_id: "all", kind: "for_each", payload }] })).toMatchObject({ ok: false });
  });
});
