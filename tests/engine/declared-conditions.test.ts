import { describe, expect, it } from "vitest";
import type { VersionedGuard } from "../../src/core/call/guard.ts";
import type { ToolContext } from "../../src/core/tool/tool.ts";
import type { Engine, SubmitOptions } from "../../src/engine/api/engine-api.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const beds = defineSlice({ name: "beds", shape: "map", entry: { type: "object" } });
const project = "garden";
const put = (bed: string, water: number) => ({
  steps: [{ step_id: "put", kind: "state_write", payload: { path: `/beds/${bed}`, value: { water } } }],
});
const oneCall = (name: string, payload: object = {}) => ({ steps: [{ step_id: "call", name, payload }] });

async function ended(engine: Engine, plan: object, options: Partial<SubmitOptions> = {}) {
  const run = await engine.submit(plan, { principal: botAgent, project, ...options });
  const result = await run.result();
  const [rejected] = await collectEvents(run, "step.rejected");
  return { run, result, state: result.steps.call?.state, rejected };
}

describe.each(storeKinds)("the precondition of a tool that declares state, on $name", ({ newFixture }) => {
  const reap = () =>
    scriptedTool("reap", () => ({}), {
      effect: "pure",
      preconditions: [
        {
          id: "watered",
          expression: "has(state.bed) && state.bed.water > 3",
          state: { bed: ["beds", { input: "/bed" }] },
        },
      ],
    });

  it("reads the state when the call starts, at a place that the input names", async () => {
    const { tool, calls } = reap();
    const engine = await newFixture().open({ tools: [tool], slices: [beds] });
    await ended(engine, put("north", 2));
    const dry = await ended(engine, oneCall("reap", { bed: "north" }));
    expect(dry.rejected).toMatchObject({ rule: "tool_conditions/watered", fault: { code: "PRECONDITION_FAILED" } });
    expect((await ended(engine, oneCall("reap", { bed: "south" }))).state).toBe("rejected");
    await ended(engine, put("north", 4));
    expect((await ended(engine, oneCall("reap", { bed: "north" }))).state).toBe("succeeded");
    expect(calls).toHaveLength(1);
  });

  it("refuses a call whose input lacks the place, and a state that this engine does not have", async () => {
    const { tool, calls } = reap();
    const engine = await newFixture().open({ tools: [tool], slices: [beds] });
    expect((await ended(engine, oneCall("reap"))).rejected?.fault.message).toContain(
      "the input does not contain the pointer of bed",
    );
    const other = await newFixture().open({ tools: [tool] });
    expect((await ended(other, oneCall("reap", { bed: "north" }), {})).rejected?.fault.message).toContain(
      "is not in a slice of this engine",
    );
    expect(calls).toHaveLength(0);
  });

  it("is refused when the engine opens, if it declares the state wrongly", async () => {
    const precondition = { id: "watered", expression: "state.bed.water > 3", state: { bed: "beds" } };
    const { tool } = scriptedTool("reap", () => ({}), { effect: "pure", preconditions: [precondition] });
    const { code, message } = await rejectedFault(newFixture().open({ tools: [tool], slices: [beds] }));
    expect({ code, message }).toMatchObject({ code: "TOOL_INVALID", message: expect.stringContaining("/state/bed") });
  });
});

describe.each(storeKinds)("a guard that declares state, on $name", ({ newFixture }) => {
  const guard: VersionedGuard = {
    id: "water",
    version: "1",
    state: { north: "/beds/north/water" },
    judge: (_, { north }) =>
      north === undefined || Number(north) > 3
        ? { kind: "allow" }
        : { kind: "hold", rule: "water", reason: `only ${north} of water`, demand: { role: null } },
  };

  it("judges each call by the state of that moment", async () => {
    const { tool } = scriptedTool("reap", () => ({}), { effect: "pure" });
    const engine = await newFixture().open({ tools: [tool], slices: [beds], guards: [guard] });
    expect((await ended(engine, oneCall("reap"))).state).toBe("succeeded");
    await ended(engine, put("north", 2));
    const held = await ended(engine, oneCall("reap"));
    expect(held.result.gates).toMatchObject([{ reason: "only 2 of water" }]);
  });

  it("is refused when the engine opens, if it declares the state wrongly", async () => {
    const wrong = { ...guard, state: { north: ["beds"] } };
    expect((await rejectedFault(newFixture().open({ slices: [beds], guards: [wrong] }))).code).toBe("INVALID_INPUT");
  });
});

describe.each(storeKinds)("the cost in an expression, on $name", ({ newFixture }) => {
  const policy = (expression: string) => ({
    schema_version: "1.0",
    name: "cost",
    rules: [{ id: "dear", kind: "approval", when: expression, on: { tools: ["ask"] } }],
  });
  const ask = (cost?: object) => {
    const spend = ({ context }: { readonly context: ToolContext }) => {
      context.cost({ usd_micros: 60 });
      return {};
    };
    return scriptedTool("ask", spend, { effect: "reads", ...(cost && { cost }) });
  };

  it("is the estimate of the call, in which an absent unit is 0", async () => {
    const tools = [ask({ usd_micros: 50 }).tool];
    const held = await newFixture().open({ tools, policies: [policy("estimate.usd_micros > 40")] });
    expect((await ended(held, oneCall("ask"))).state).toBe("waiting_approval");
    const free = await newFixture().open({ tools, policies: [policy("estimate.credits > 0")] });
    expect((await ended(free, oneCall("ask"))).state).toBe("succeeded");
  });

  it("refuses a call whose cost is unknown, and says so on record", async () => {
    const engine = await newFixture().open({ tools: [ask().tool], policies: [policy("estimate.usd_micros > 40")] });
    const { rejected } = await ended(engine, oneCall("ask"));
    expect(rejected).toMatchObject({ rule: "global/cost/dear", fault: { code: "POLICY_DENIED" } });
  });

  it("has what the run has spent so far", async () => {
    const engine = await newFixture().open({ tools: [ask().tool], policies: [policy("run.spent.usd_micros >= 60")] });

    const asking = { name: "ask", payload: {} };
    const steps = [
      { step_id: "a", ...asking },
      { step_id: "call", ...asking, depends_on: ["a"] },
    ];
    const { result } = await ended(engine, { steps });
    expect([result.steps.a?.state, result.steps.call?.state]).toEqual(["succeeded", "waiting_approval"]);
  });
});

describe.each(storeKinds)("a tool that declares confirmation, on $name", ({ newFixture }) => {
  const tool = () => scriptedTool("wipe", () => ({}), { effect: "reads", confirmation: true });

  it("is held until its requester confirms the call", async () => {
    const { tool: wipe, calls } = tool();
    const engine = await newFixture().open({ tools: [wipe] });
    const { run, result } = await ended(engine, oneCall("wipe"), { principal: anaPerson });
    expect(result.gates).toMatchObject([{ reason: "wipe needs a confirmation before each call" }]);
    expect(calls).toHaveLength(0);
    await engine.approve(result.gates[0]?.gate_id as string, { principal: anaPerson });
    expect((await run.result()).status).toBe("completed");
  });

  it("runs at once if the call was confirmed in advance", async () => {
    const engine = await newFixture().open({ tools: [tool().tool] });
    expect((await ended(engine, oneCall("wipe"), { confirmed: true })).state).toBe("succeeded");
  });

  it("is no approval: an act of a human_gated run stays held", async () => {
    const { tool: send, calls } = scriptedTool("send", () => ({}), { confirmation: true });
    const engine = await newFixture().open({ tools: [send] });
    expect((await ended(engine, oneCall("send"), { confirmed: true, mode: "human_gated" })).state).toBe(
      "waiting_approval",
    );
    expect(calls).toHaveLength(0);
  });
});
