import { describe, expect, it } from "vitest";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { botAgent, storeKinds } from "./engine-fixture.ts";
import { scriptedTool } from "./scripted-tool.ts";

const beds = defineSlice({ name: "beds", shape: "map", entry: { type: "object" } });
const auto = { tenants: { acme: { mode: "auto_exec" } } } as const;
const at = { principal: botAgent, project: "garden" };
const put = (step_id: string, bed: string, value: object) => ({
  step_id,
  kind: "state_write",
  payload: { path: `/beds/${bed}`, value },
});

describe.each(storeKinds)("the report of a step, on $name", ({ newFixture }) => {
  it("says what the step did to the world, also after a crash", async () => {
    const stage = newFixture();
    const look = scriptedTool("look", () => ({}), { effect: "reads" });
    const send = scriptedTool("send", () => ({}));
    const lost = scriptedTool("lost", () => {
      throw new Error("cut");
    });
    const options = { tools: [look.tool, send.tool, lost.tool], slices: [beds], ...auto };
    const steps = [
      { step_id: "look", name: "look", payload: {} },
      { step_id: "send", name: "send", payload: {} },
      put("put", "north", { water: 1 }),
      { step_id: "lost", name: "lost", payload: {} },
      { step_id: "later", name: "look", payload: {}, depends_on: ["lost"] },
    ];
    const run = await (await stage.open(options)).submit({ steps }, at);
    const worlds = { look: "pure", send: "side_effect_committed", put: "state_changed", lost: "in_doubt", later: null };
    const reported = ({ results }: Awaited<ReturnType<typeof run.result>>) =>
      Object.fromEntries(results.map(({ step_id, world }) => [step_id, world]));
    expect(reported(await run.result())).toEqual(worlds);
    await stage.crash();
    const again = await (await stage.open(options)).run(run.run_id, { principal: botAgent });
    expect(reported(await again.result())).toEqual(worlds);
  });

  it("has the version of the state that it made, and the changes", async () => {
    const engine = await newFixture().open({ tools: [], slices: [beds] });
    await (await engine.submit({ steps: [put("first", "north", { water: 1 })] }, at)).result();
    const run = await engine.submit(
      { sequential: true, steps: [put("dry", "north", { water: 0 }), put("new", "south", { water: 2 })] },
      at,
    );
    const { results, versions } = await run.result();
    expect(versions).toEqual({ made: 2, first: 2, last: 3 });
    expect(results.map(({ state_change }) => state_change)).toEqual([
      { before: 1, version: 2, changes: [{ op: "set", path: "/beds/north", value: { water: 0 } }] },
      { before: 2, version: 3, changes: [{ op: "set", path: "/beds/south", value: { water: 2 } }] },
    ]);
  });

  it("names no changes that are too large for a result, and the version of them", async () => {
    const engine = await newFixture().open({ tools: [], slices: [beds] });
    const large = put("put", "north", { text: "x".repeat(5000) });
    const { results, versions } = await (await engine.submit({ steps: [large] }, at)).result();
    expect(results[0]?.state_change).toEqual({ before: 0, version: 1, changes: null });
    expect(versions).toEqual({ made: 1, first: 1, last: 1 });
  });

  it("of a run without writes names no version, and an outcome has a preview", async () => {
    const write = scriptedTool("write", () => ({ body: "x".repeat(1000) }), { effect: "reads" });
    const engine = await newFixture().open({ tools: [write.tool], slices: [beds] });
    const outcome = { type: "Draft", status: "draft" };
    const run = await engine.submit({ steps: [{ step_id: "w", name: "write", payload: {}, outcome }] }, at);
    const { versions, results, outcomes } = await run.result();
    expect(versions).toBeNull();
    expect(results[0]).not.toHaveProperty("state_change");
    expect(outcomes[0]?.preview).toMatch(/^\{"body":"x{151}…$/);
  });
});
