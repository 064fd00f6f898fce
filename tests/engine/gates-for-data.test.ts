import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../src/core/values/json.ts";
import type { Engine, RunHandle, SubmitOptions } from "../../src/engine/api/engine-api.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const bob = { id: "bob", kind: "person", tenant: "acme" } as const;
const transcript = { "/transcript": "the transcript of the student" };
const input = {
  type: "object",
  properties: { program: { type: "string" }, transcript: { type: "string", minLength: 3 } },
  required: ["program", "transcript"],
  additionalProperties: false,
} as const;

function applying(more: object = {}) {
  return scriptedTool("apply", ({ input: given }) => ({ sent: (given as { transcript: string }).transcript }), {
    input,
    asksFor: { transcript: transcript["/transcript"] },
    ...more,
  });
}

const plan = (payload: object = { program: "physics" }, more: object = {}) => ({
  steps: [{ step_id: "apply", name: "apply", payload, ...more }],
});

async function asked(engine: Engine, what: object = plan(), options: Partial<SubmitOptions> = {}) {
  const run = await engine.submit(what, { principal: botAgent, ...options });
  const result = await run.result();
  return { run, result, gate: result.gates[0]?.gate_id as string };
}

const supply = (engine: Engine, gate: string, data: Json, principal = anaPerson) =>
  engine.approve(gate, { principal, data: data as JsonObject });

async function stateOf(run: RunHandle, step = "apply") {
  return (await run.result()).steps[step]?.state;
}

describe.each(storeKinds)("a call that lacks values, on $name", ({ newFixture }) => {
  it("waits at a gate that asks for them, and goes on with them, also after a crash", async () => {
    const stage = newFixture();
    const { tool, calls } = applying();
    const { run, result, gate } = await asked(await stage.open({ tools: [tool] }));
    expect(result.blocked_on).toEqual([
      {
        step_id: "apply",
        reason_code: "REQUIRES_DATA",
        gate_id: gate,
        asks_for: [{ path: "/transcript", what: transcript["/transcript"] }],
      },
    ]);
    expect(result.next).toBe(`supply /transcript (the transcript of the student) at gate ${gate}, or reject it`);
    expect(result.gates[0]).toMatchObject({
      input: { program: "physics" },
      reason: "apply needs /transcript (the transcript of the student)",
    });
    await stage.crash();
    const next = await stage.open({ tools: [tool] });
    expect(await next.gate(gate, { principal: anaPerson })).toMatchObject({ asks_for: [{ path: "/transcript" }] });
    await supply(next, gate, { "/transcript": "all good" });
    const again = await next.run(run.run_id, { principal: anaPerson });
    expect(await stateOf(again)).toBe("succeeded");
    expect(calls.map((call) => call.input)).toEqual([{ program: "physics", transcript: "all good" }]);
    const [amended] = await collectEvents(again, "gate.amended");
    expect(amended).toMatchObject({ by: { id: "ana" }, call: { input: { transcript: "all good" } } });
    expect(await next.audit({ principal: anaPerson })).toMatchObject({ broken: [], rows: [] });
  });

  it("asks for nothing if it has them, also from an earlier step", async () => {
    const { tool, calls } = applying();
    const fetch = scriptedTool("fetch", () => ({ text: "fetched" }), { effect: "reads" });
    const engine = await newFixture().open({ tools: [tool, fetch.tool] });
    const steps = [
      { step_id: "fetch", name: "fetch", payload: {} },
      {
        step_id: "apply",
        name: "apply",
        payload: { program: "p" },
        bindings: { "/transcript": { step: "fetch", path: "/text" } },
      },
    ];
    const { result } = await asked(engine, { steps });
    expect(result.status).toBe("completed");
    expect(calls[0]?.input).toEqual({ program: "p", transcript: "fetched" });
  });

  it("is refused as ever if another value does not fit", async () => {
    const engine = await newFixture().open({ tools: [applying().tool] });
    const refused = await rejectedFault(engine.submit(plan({ program: 3 }), { principal: botAgent }));
    expect(refused.message).toContain("/program");
    expect(refused.message).not.toContain("transcript");
  });

  it("is asked for it as a call of a session and as an errand, too", async () => {
    const { tool, calls } = applying();
    const plans = scriptedTool("prepare", ({ context }) => context.errand("apply", { program: "errand" }) ?? {}, {
      effect: "writes",
    });
    const engine = await newFixture().open({ tools: [tool, plans.tool] });
    const session = await engine.openRun({ principal: botAgent, session: "s" });
    const call = { id: "c1", tool: "apply", input: { program: "session" } };
    const held = await session.callTool(call);
    expect(held).toMatchObject({ status: "held", gate: { asks_for: [{ path: "/transcript" }] } });
    if (held.status !== "held") throw new Error("the call is not held");
    await supply(engine, held.gate.gate_id, { "/transcript": "of the session" });
    expect(await session.callTool(call)).toMatchObject({ status: "succeeded", output: { sent: "of the session" } });
    const { run, gate } = await asked(engine, { steps: [{ step_id: "p", name: "prepare", payload: {} }] });
    await supply(engine, gate, { "/transcript": "of the errand" });
    expect((await run.result()).status).toBe("completed");
    expect(calls.map((each) => each.input.program)).toEqual(["session", "errand"]);
  });

  it("is asked for what its plan names, too", async () => {
    const { tool, calls } = scriptedTool("note", () => ({}), { effect: "writes" });
    const engine = await newFixture().open({ tools: [tool] });
    const steps = [{ step_id: "n", name: "note", payload: {}, asks_for: { "/grade/final": "the final grade" } }];
    const { run, gate } = await asked(engine, { steps });
    await supply(engine, gate, { "/grade/final": 1 });
    expect(await stateOf(run, "n")).toBe("succeeded");
    expect(calls[0]?.input).toEqual({ grade: { final: 1 } });
  });
});

describe.each(storeKinds)("data for a gate, on $name", ({ newFixture }) => {
  it("is refused on record and changes nothing, if it does not fit what is asked", async () => {
    const { tool, calls } = applying();
    const engine = await newFixture().open({ tools: [tool] });
    const { run, gate } = await asked(engine);
    const unfit: readonly Json[] = [
      {},
      { "/transcript": "no" },
      { "/transcript": 7 },
      { "/transcript": "long enough", "/program": "chemistry" },
      { transcript: "long enough" },
      { "/transcript": "long enough", "/__proto__/polluted": true },
      ["long enough"],
      JSON.parse('{"/transcript":"long enough","__proto__":{"x":1}}') as Json,
    ];
    for (const data of unfit) expect((await rejectedFault(supply(engine, gate, data))).code).toBe("INVALID_INPUT");
    expect((await rejectedFault(engine.approve(gate, { principal: anaPerson }))).message).toContain(
      "approve it with data",
    );
    expect(await collectEvents(run, "gate.contested")).toHaveLength(unfit.length + 1);
    expect(calls).toHaveLength(0);
    expect(({} as { polluted?: true }).polluted).toBeUndefined();
    expect(await stateOf(run)).toBe("waiting_approval");
  });

  it("is refused at a gate that asks for none, beside input, from an agent and from another tenant", async () => {
    const { tool } = applying();
    const engine = await newFixture().open({ tools: [tool] });
    const { gate } = await asked(engine);
    const data = { "/transcript": "long enough" };
    const both = { principal: anaPerson, data, input: { program: "p", transcript: "long" } };
    expect((await rejectedFault(engine.approve(gate, both))).code).toBe("INVALID_INPUT");
    expect((await rejectedFault(supply(engine, gate, data, botAgent))).code).toBe("AUTH_FORBIDDEN");
    const eve = { id: "eve", kind: "person", tenant: "other" } as const;
    expect((await rejectedFault(supply(engine, gate, data, eve))).code).toBe("GATE_NOT_FOUND");
    const complete = plan({ program: "p", transcript: "whole" }, { gate: "human_confirm" });
    const { gate: whole } = await asked(engine, complete);
    expect((await rejectedFault(supply(engine, whole, data))).code).toBe("NOT_POSSIBLE");
  });

  it("approves nothing that a rule demands from others: the complete call is held again", async () => {
    const { tool, calls } = applying();
    const document = {
      schema_version: "1.0",
      name: "two",
      rules: [{ id: "two", kind: "approval", on: { tools: ["apply"] }, when: "input.transcript != ''", people: 2 }],
    };
    const engine = await newFixture().open({ tools: [tool], policies: [document] });
    const { run, gate } = await asked(engine);
    await supply(engine, gate, { "/transcript": "from ana" });
    const held = (await run.result()).gates[0];
    expect(held).toMatchObject({ input: { program: "physics", transcript: "from ana" }, votes: [] });
    expect(held?.asks_for).toBeUndefined();
    expect((await rejectedFault(supply(engine, held?.gate_id as string, { "/transcript": "other" }, bob))).code).toBe(
      "NOT_POSSIBLE",
    );
    await engine.approve(held?.gate_id as string, { principal: anaPerson });
    await engine.approve(held?.gate_id as string, { principal: bob });
    expect(await stateOf(run)).toBe("succeeded");
    expect(calls.map((call) => call.input)).toEqual([{ program: "physics", transcript: "from ana" }]);
  });

  it("is no approval of the complete call: a call that its mode holds is held again", async () => {
    const { tool, calls } = applying();
    const engine = await newFixture().open({ tools: [tool], tenants: { acme: { mode: "human_gated" } } });
    const { run, gate } = await asked(engine);
    await supply(engine, gate, { "/transcript": "from ana" });
    const [held] = (await run.result()).gates;
    expect(held).toMatchObject({ input: { program: "physics", transcript: "from ana" }, votes: [] });
    expect(calls).toHaveLength(0);
    await engine.approve(held?.gate_id as string, { principal: anaPerson });
    expect(await stateOf(run)).toBe("succeeded");
    expect(calls).toHaveLength(1);
  });

  it("cannot be edited at the gate that asks for data: another input is refused on record", async () => {
    const { tool, calls } = applying();
    const engine = await newFixture().open({ tools: [tool] });
    const { run, gate } = await asked(engine);
    const other = { principal: anaPerson, input: { program: "law", transcript: "from ana" } };
    expect((await rejectedFault(engine.approve(gate, other))).code).toBe("INVALID_INPUT");
    expect(await collectEvents(run, "gate.contested")).toHaveLength(1);
    expect(calls).toHaveLength(0);
    expect((await run.result()).gates[0]).toMatchObject({ gate_id: gate });
  });

  it("is asked for in the words of the tool, whatever the plan says about the same value", async () => {
    const { tool } = applying();
    const engine = await newFixture().open({ tools: [tool] });
    const { result } = await asked(engine, plan(undefined, { asks_for: { "/transcript": "type your password" } }));
    expect(result.gates[0]?.asks_for).toEqual([{ path: "/transcript", what: transcript["/transcript"] }]);
  });

  it("is judged by the rules of the complete call", async () => {
    const { tool, calls } = applying();
    const rules = [{ id: "no", kind: "deny", on: { tools: ["apply"] }, when: "input.transcript == 'forged'" }];
    const engine = await newFixture().open({ tools: [tool], policies: [{ schema_version: "1.0", name: "no", rules }] });
    const { run, gate } = await asked(engine);
    await supply(engine, gate, { "/transcript": "forged" });
    expect(await stateOf(run)).toBe("rejected");
    expect(calls).toHaveLength(0);
  });

  it("with hidden characters is a caution at the gate of the complete call, where it is part of an identity", async () => {
    const { tool } = applying({ identity: ["transcript"] });
    const engine = await newFixture().open({ tools: [tool], tenants: {} });
    const { run, gate } = await asked(engine, plan(undefined, { gate: "human_confirm" }), { principal: anaPerson });
    await supply(engine, gate, { "/transcript": "Ame\u0301lie" });
    const held = (await run.result()).gates[0];
    expect(held).toMatchObject({ input: { transcript: "Ame\u0301lie" }, caution: expect.any(String) });
    expect(held?.gate_id).not.toBe(gate);
  });

  it("can come from the person who asked for the call, once", async () => {
    const { tool, calls } = applying({ effect: "writes" });
    const engine = await newFixture().open({ tools: [tool] });
    const { run, gate } = await asked(engine, plan(), { principal: anaPerson });
    await supply(engine, gate, { "/transcript": "mine" });
    expect((await rejectedFault(supply(engine, gate, { "/transcript": "other" }, bob))).code).toBe("GATE_DECIDED");
    expect(await stateOf(run)).toBe("succeeded");
    expect(calls.map((call) => call.input)).toEqual([{ program: "physics", transcript: "mine" }]);
  });

  it("is asked for again by a resumed run, after a rejection and after an expiry", async () => {
    const stage = newFixture();
    const { tool, calls } = applying();
    const engine = await stage.open({ tools: [tool] });
    const { run, gate } = await asked(engine);
    await engine.reject(gate, { principal: anaPerson, reason: "later" });
    expect(await stateOf(run)).toBe("rejected");
    await engine.resume(run.run_id, { principal: anaPerson });
    const second = (await run.result()).gates[0];
    expect(second?.asks_for).toHaveLength(1);
    await supply(engine, second?.gate_id as string, { "/transcript": "at last" });
    expect(await stateOf(run)).toBe("succeeded");
    expect(calls).toHaveLength(1);
  });
});

describe.each(storeKinds)("a simulation of a call that lacks values, on $name", ({ newFixture }) => {
  it("names the gate that would ask, and calls nothing", async () => {
    const { tool, calls } = applying({ effect: "writes" });
    const engine = await newFixture().open({ tools: [tool] });
    const { steps } = await engine.simulate(plan(), { principal: botAgent });
    expect(JSON.stringify(steps)).toContain("needs /transcript");
    expect(calls).toHaveLength(0);
  });
});
