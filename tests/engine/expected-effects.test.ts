import { describe, expect, it } from "vitest";
import { kvSlice } from "../../src/index.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const looks = (more: object = {}) => scriptedTool("look", () => ({ seen: 1 }), { effect: "reads", ...more });
const read = (path: string) => ({ step_id: "read", kind: "state_read", payload: { path } });
const step = (name: string, value: unknown, more: object = {}) => ({
  step_id: "s",
  name,
  expected_effects: [{ state: "/kv/rooms", value }],
  ...more,
});

describe.each(storeKinds)("expected effects, on $name", ({ newFixture }) => {
  it("of a tool that writes no state are set with its success, and later steps are ordered after it", async () => {
    const stage = newFixture();
    const { tool } = looks();
    const engine = await stage.open({ tools: [tool], slices: [kvSlice] });
    const plan = { steps: [step("look", { free: 3 }), read("/kv/rooms/free")] };
    const run = await engine.submit(plan, { principal: botAgent, project: "hotel" });
    expect((await run.result()).steps.read).toMatchObject({ state: "succeeded", output: 3 });
    const [done] = await collectEvents(run, "step.succeeded");
    expect(done).toMatchObject({ step_id: "s", world: "state_changed", state: { version: 1 } });
    await engine.close();
    const again = await stage.open({ tools: [tool], slices: [kvSlice] });
    const state = await again.state({ principal: anaPerson, project: "hotel" });
    expect(state.slice(kvSlice).get("rooms")).toEqual({ free: 3 });
  });

  it("are not set by a call that fails", async () => {
    const { tool } = scriptedTool("look", () => Promise.reject(new Error("no")), { effect: "reads" });
    const engine = await newFixture().open({ tools: [tool], slices: [kvSlice] });
    await (await engine.submit({ steps: [step("look", 1)] }, { principal: botAgent, project: "p" })).result();
    expect((await engine.state({ principal: anaPerson, project: "p" })).version).toBe(0);
  });

  it("of a tool that writes state are checked, and a difference leaves nothing of the call", async () => {
    const { tool } = scriptedTool(
      "book",
      ({ context }) => {
        context.slice(kvSlice).set("rooms", 2);
        return {};
      },
      { effect: "writes" },
    );
    const engine = await newFixture().open({ tools: [tool], slices: [kvSlice] });
    const call = async (value: number) =>
      (await engine.submit({ steps: [step("book", value)] }, { principal: botAgent, project: "p" })).result();
    expect((await call(1)).steps.s).toMatchObject({
      state: "failed_final",
      fault: { code: "ASSERTION_FAILED", message: "state /kv/rooms is 2 after the call, and the plan expects 1" },
    });
    expect((await engine.state({ principal: anaPerson, project: "p" })).version).toBe(0);
    expect((await call(2)).status).toBe("completed");
    expect((await engine.state({ principal: anaPerson, project: "p" })).slice(kvSlice).get("rooms")).toBe(2);
  });

  it("need the right to write there, and pass the invariants", async () => {
    const { tool } = looks();
    const engine = await newFixture().open({ tools: [tool], slices: [kvSlice] });
    const bounded = { ...botAgent, capabilities: [{ state_writes: ["/kv/beds"] }] };
    const { steps } = await (await engine.submit({ steps: [step("look", 1)] }, { principal: bounded })).result();
    expect(steps.s?.state).not.toBe("succeeded");
  });

  it("of an act are published with its receipt", async () => {
    const { tool, calls } = scriptedTool("send", () => ({ id: 1 }), { effect: "acts" });
    const tenants = { acme: { mode: "auto_exec" } } as const;
    const engine = await newFixture().open({ tools: [tool], slices: [kvSlice], tenants });
    const options = { principal: botAgent, project: "p" };
    const { status } = await (await engine.submit({ steps: [step("send", true)] }, options)).result();
    expect(status).toBe("completed");
    expect(calls).toHaveLength(1);
    expect((await engine.state({ principal: anaPerson, project: "p" })).slice(kvSlice).get("rooms")).toBe(true);
  });

  it.each([
    ["a whole slice", { expected_effects: [{ state: "/kv", value: 1 }] }, "has an item that is not"],
    ["no value", { expected_effects: [{ state: "/kv/a" }] }, "has an item that is not"],
    [
      "one place twice",
      {
        expected_effects: [
          { state: "/kv/a", value: 1 },
          { state: "/kv/a/b", value: 2 },
        ],
      },
      "/kv/a/b is named twice",
    ],
    [
      "an answer from a cache",
      { expected_effects: [{ state: "/kv/a", value: 1 }], cache_policy: "use_if_safe" },
      "use never",
    ],
    [
      "more than 32",
      { expected_effects: Array.from({ length: 33 }, (_, at) => ({ state: `/kv/${at}`, value: 1 })) },
      "more than 32",
    ],
  ])("with %s are refused", async (_, more, message) => {
    const engine = await newFixture().open({ tools: [looks().tool], slices: [kvSlice] });
    const refused = engine.submit({ steps: [{ step_id: "s", name: "look", ...more }] }, { principal: botAgent });
    expect(JSON.stringify(await rejectedFault(refused))).toContain(message);
  });

  it("are refused by an engine without state", async () => {
    const engine = await newFixture().open({ tools: [looks().tool] });
    const refused = await rejectedFault(engine.submit({ steps: [step("look", 1)] }, { principal: botAgent }));
    expect(JSON.stringify(refused)).toContain("needs an engine that has slices");
  });
});
