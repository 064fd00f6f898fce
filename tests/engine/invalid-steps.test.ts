import { describe, expect, it } from "vitest";
import { botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, scriptedTool } from "./scripted-tool.ts";

describe.each(storeKinds)("a plan that rejects its invalid steps, on $name", ({ newFixture: newStage }) => {
  const opened = async () => {
    const tool = scriptedTool("look", () => 1, {
      effect: "reads",
      input: { type: "object", properties: { n: { type: "number" } }, additionalProperties: false },
    });
    return { tool, engine: await newStage().open({ tools: [tool.tool] }) };
  };
  const steps = [
    { step_id: "good", name: "look", payload: { n: 1 } },
    { step_id: "wrong", name: "look", payload: { n: "one" } },
    { step_id: "unknown", name: "lok" },
    { step_id: "behind", name: "look", depends_on: ["unknown"] },
  ];

  it("runs the others, and has each rejection with its reasons on record", async () => {
    const { engine, tool } = await opened();
    const run = await engine.submit({ invalid: "reject_step", steps }, { principal: botAgent });
    const result = await run.result();
    expect(result.status).toBe("partial");
    expect(result.steps).toMatchObject({
      good: { state: "succeeded" },
      wrong: {
        state: "rejected",
        fault: { code: "PLAN_INVALID", detail: { reasons: [{ path: "/steps/1/payload/n" }] } },
      },
      unknown: { state: "rejected", fault: { message: expect.stringContaining("did you mean look?") } },
      behind: { state: "skipped" },
    });
    expect(await collectEvents(run, "step.rejected")).toMatchObject([{ rule: "plan" }, { rule: "plan" }]);
    await engine.resume(run.run_id, { principal: botAgent, reason: "again" });
    expect((await run.result()).steps).toMatchObject({ wrong: { state: "rejected" }, unknown: { state: "rejected" } });
    expect(tool.calls).toHaveLength(1);
  });

  it("ends at an invalid step that says so", async () => {
    const { engine } = await opened();
    const plan = { invalid: "reject_step", sequential: true, steps: [{ ...steps[2], on_rejected: "stop" }, steps[0]] };
    expect((await (await engine.submit(plan, { principal: botAgent })).result()).steps).toMatchObject({
      unknown: { state: "rejected" },
      good: { state: "skipped" },
    });
  });

  it.each([
    ["two steps of one id", [steps[0], steps[0]]],
    ["a step without an id", [{ name: "look" }]],
    ["a step that is no object", [steps[0], 7]],
    [
      "a cycle",
      [
        { ...steps[0], depends_on: ["b"] },
        { step_id: "b", name: "look", depends_on: ["good"] },
      ],
    ],
  ])("is refused as a whole for %s, on record", async (_, wrong) => {
    const { engine } = await opened();
    const refused = engine.submit({ invalid: "reject_step", steps: wrong }, { principal: botAgent });
    await expect(refused).rejects.toMatchObject({
      fault: { code: "PLAN_INVALID", detail: { run_id: expect.any(String) } },
    });
  });

  it("runs nothing if the principal may not make as many calls", async () => {
    const { engine, tool } = await opened();
    const principal = { ...botAgent, capabilities: [{ max_actions: 1 }] };
    const two = [steps[0], { ...steps[0], step_id: "more" }];
    const result = await (await engine.submit({ steps: two }, { principal })).result();
    expect(result.failed).toMatchObject([{ step_id: "good", fault: { code: "AUTH_FORBIDDEN" } }]);
    expect(tool.calls).toHaveLength(0);
  });
});
