import { describe, expect, it } from "vitest";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { rejectedFault, scriptedTool } from "./scripted-tool.ts";

const step = (step_id: string, ...depends_on: string[]) => ({ step_id, name: "count", depends_on });
const ids = (count: number) => Array.from({ length: count }, (_, at) => `s${at}`);
const ring = ids(1000).map((id, at, all) => step(id, all[(at + 1) % all.length] as string));

/** Each step needs every earlier one. */
function allEdges(count: number) {
  return ids(count).map((id, at, all) => step(id, ...all.slice(0, at)));
}

describe.each(storeKinds)("a plan that cannot be run, on $name", ({ newFixture }) => {
  it.each([
    ["is empty", { steps: [] }, "a plan has at least one step"],
    ["is no object", null, "a plan is an object with steps"],
    ["has a step that needs itself", { steps: [step("a", "a")] }, "a cannot wait for itself"],
    ["has one id twice", { steps: [step("a"), step("a")] }, "a is already the id of step 0"],
    ["has a ring of a thousand steps", { steps: ring }, "the steps form a cycle"],
    ["has more steps than the limit", { steps: ids(10_001).map((id) => step(id)) }, "more than 10000 steps"],
    ["has more edges than the limit", { steps: allEdges(460) }, "more than 100000 dependencies"],
    ["has half a million edges", { steps: allEdges(1000) }, "more than 500000 values"],
    ["has a million edges", { steps: allEdges(1415) }, "more than"],
    ["depends on steps that it does not have", { steps: ids(50).map((id) => step(id, "elsewhere")) }, "no step"],
  ])("because it %s, is refused with bounded reasons, and the refusal is on record", async (_, plan, message) => {
    const count = scriptedTool("count", () => 1, { effect: "pure" });
    const stage = newFixture();
    const engine = await stage.open({ tools: [count.tool] });
    const refused = await rejectedFault(engine.submit(plan, { principal: botAgent }));
    expect(refused.code).toBe("PLAN_INVALID");
    const text = JSON.stringify(refused);
    expect(text).toContain(message);
    expect(text.length).toBeLessThan(50_000);
    const [record, ...others] = await engine.runs({ principal: anaPerson });
    expect(record).toMatchObject({ status: "rejected", final: true });
    expect(others).toEqual([]);
    expect(JSON.stringify(await stage.dump()).length).toBeLessThan(200_000);
    expect(count.calls).toHaveLength(0);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });
});
