import { describe, expect, it } from "vitest";
import { type FaultCode, FaultError } from "../../src/core/fault.ts";
import { actor, type Deed, eventsOf, faultOf, journalOf, says, throws } from "./cast.ts";
import { ana, bot, places } from "./stage.ts";

const id = { type: "object", properties: { id: { type: "string" } }, required: ["id"] };
const one = (name: string, more: object = {}) => ({ steps: [{ step_id: "a", name, ...more }] });

describe.each(places)("what a handler answers, on $name", ({ newStage }) => {
  it.each([
    ["success: false", { success: false, error: "mailbox full" }],
    ["isError, as MCP has it", { isError: true, content: [{ type: "text", text: "mailbox full" }] }],
  ])("is a failure when it says %s", async (_, answer) => {
    const look = actor("look", () => answer, { effect: "reads" });
    const engine = await newStage().open({ tools: [look.tool] });
    const result = await (await engine.submit(one("look"), { principal: bot })).result();
    expect(result.steps.a).toMatchObject({ state: "failed_final", fault: { code: "TOOL_FAILED" } });
    expect(JSON.stringify(result.steps.a)).toContain("mailbox full");
  });

  it.each([
    ["success: false", () => ({ success: false })],
    ["isError", () => ({ isError: true, content: [] })],
    ["an error", () => Promise.reject(new Error("no"))],
  ])("leaves an act in doubt when it says %s, and undone where errors mean not_done", async (_, deed) => {
    const unsure = actor("unsure", deed);
    const sure = actor("sure", deed, { errorsMean: "not_done" });
    const engine = await newStage().open({ tools: [unsure.tool, sure.tool] });
    const doubted = await (await engine.submit(one("unsure"), { principal: bot })).result();
    expect(doubted.steps.a).toMatchObject({ state: "in_doubt" });
    const run = await engine.submit(one("sure"), { principal: bot });
    expect((await run.result()).steps.a).toMatchObject({ state: "failed_final", fault: { code: "TOOL_FAILED" } });
    expect(await eventsOf(run, "step.doubted")).toEqual([]);
  });

  it.each<[string, Deed, string]>([
    ["a code that is not in the table of faults", throws("NOT_A_CODE" as FaultCode), "NOT_A_CODE"],
    ["the name of what every object has", throws("constructor" as FaultCode), "constructor"],
    ["no code at all", throws(undefined as unknown as FaultCode), "undefined"],
    ["something that has no words", () => Promise.reject(Object.create(null)), "no words"],
  ])("is a failure on record when it throws %s", async (_, deed, named) => {
    const look = actor("look", deed, { effect: "reads" });
    const send = actor("send", deed);
    const engine = await newStage().open({ tools: [look.tool, send.tool] });
    const { steps } = await (await engine.submit(one("look"), { principal: bot })).result();
    expect(steps.a).toMatchObject({ state: "failed_final", fault: { code: "TOOL_FAILED" } });
    expect(JSON.stringify(steps.a)).toContain(named);
    const doubted = await (await engine.submit(one("send"), { principal: bot })).result();
    expect(doubted.steps.a).toMatchObject({ state: "in_doubt", fault: { detail: { code: "TOOL_FAILED" } } });
  });

  it("keeps the word that nothing was done, whatever its tool calls the fault", async () => {
    const send = actor("send", says("NOT_A_CODE" as FaultCode));
    const engine = await newStage().open({ tools: [send.tool] });
    const { steps } = await (await engine.submit(one("send"), { principal: bot })).result();
    expect(steps.a).toMatchObject({ state: "failed_final", fault: { code: "TOOL_FAILED" } });
  });

  it("is kept as far as the journal can hold it when a fault has a detail that is not JSON", async () => {
    const deed = () => Promise.reject(new FaultError({ code: "POLICY_DENIED", message: "no", detail: 7n as never }));
    const look = actor("look", deed, { effect: "reads" });
    const engine = await newStage().open({ tools: [look.tool] });
    const { steps } = await (await engine.submit(one("look"), { principal: bot })).result();
    expect(steps.a).toMatchObject({ state: "failed_final", fault: { code: "POLICY_DENIED", detail: null } });
  });

  it("fails a step whose answer is not what it promised, and drops it", async () => {
    const look = actor("look", () => ({ id: 7 }), { effect: "reads", output: id });
    const engine = await newStage().open({ tools: [look.tool] });
    const run = await engine.submit(one("look"), { principal: bot });
    expect((await run.result()).steps.a).toMatchObject({
      state: "failed_final",
      fault: { code: "SCHEMA_VALIDATION_FAILED" },
    });
    const [failed] = await eventsOf(run, "step.failed");
    expect(failed).not.toHaveProperty("output");
    expect(failed).toMatchObject({ world: "permanent_failure", retry_at: null });
  });

  it("is refused when it is larger than it may be, and the act stays on record", async () => {
    const send = actor("send", () => ({ id: "x".repeat(5000) }));
    const engine = await newStage().open({ tools: [send.tool], limits: { outputBytes: 1000 } });
    const run = await engine.submit(one("send"), { principal: bot });
    expect((await run.result()).steps.a).toMatchObject({ state: "failed_final", fault: { code: "LIMIT_EXCEEDED" } });
    expect(await eventsOf(run, "step.failed")).toMatchObject([{ world: "compensatable_failure" }]);
  });

  it.each([
    ["null", null, null],
    ["nothing at all", undefined, undefined],
    ["a bare text", "hello", "hello"],
    ["a value that is not JSON", { at: new Date(0), f: () => 1, n: Number.NaN }, undefined],
  ])("can be %s without harm", async (_, answer, expected) => {
    const look = actor("look", () => answer, { effect: "reads" });
    const engine = await newStage().open({ tools: [look.tool] });
    const result = await (await engine.submit(one("look"), { principal: bot })).result();
    if (expected === undefined) expect(result.steps.a).toMatchObject({ state: "failed_final" });
    else expect(result.steps.a).toEqual({ state: "succeeded", output: expected });
  });
});

describe.each(places)("an act whose answer does not fit, on $name", ({ newStage }) => {
  const steps = [
    { step_id: "send", name: "send" },
    { step_id: "after", name: "after", bindings: { "/id": { step: "send", path: "/id" } } },
  ];
  const cast = (more: object = {}) => {
    const send = actor("send", () => ({ number: 7 }), { output: id, ...more });
    const after = actor("after", ({ input }) => input, { effect: "reads" });
    return { send, after, tools: [send.tool, after.tool] };
  };

  it("is committed with what it answered, failed for good, and never done again", async () => {
    const { send, tools } = cast();
    const engine = await newStage().open({ tools });
    const run = await engine.submit({ steps }, { principal: bot });
    expect(await run.result()).toMatchObject({
      status: "failed",
      steps: {
        send: { state: "failed_final", fault: { code: "SCHEMA_VALIDATION_FAILED" } },
        after: { state: "skipped" },
      },
    });
    expect(await eventsOf(run, "step.failed")).toMatchObject([
      { world: "compensatable_failure", output: { number: 7 }, retry_at: null, ledger: { generation: 1 } },
    ]);
    await engine.resume(run.run_id, { principal: bot });
    expect(await run.result()).toMatchObject({ steps: { send: { state: "failed_final" } } });
    expect(send.calls).toHaveLength(1);
  });

  it("goes on once a person has said what it really answered", async () => {
    const { send, after, tools } = cast();
    const engine = await newStage().open({ tools });
    const run = await engine.submit({ steps }, { principal: bot });
    await run.result();
    const wrong = engine.resolve(run.run_id, "send", { principal: ana, as: "happened", output: { number: 8 } });
    expect((await faultOf(wrong)).message).toContain("does not fit send");
    await engine.resolve(run.run_id, "send", { principal: ana, as: "happened", output: { id: "m7" } });
    expect((await run.result()).steps.send).toEqual({ state: "succeeded", output: { id: "m7" } });
    await engine.resume(run.run_id, { principal: bot });
    expect(await run.result()).toMatchObject({ status: "completed", steps: { after: { output: { id: "m7" } } } });
    expect(send.calls).toHaveLength(1);
    expect(after.calls).toHaveLength(1);
  });

  it("is undone when a person asks for it, with what it answered in hand", async () => {
    const undone: unknown[] = [];
    const compensate = async (done: unknown) => void undone.push(done);
    const { send, tools } = cast({ compensate });
    const engine = await newStage().open({ tools });
    const run = await engine.submit({ steps }, { principal: bot });
    await run.result();
    await engine.resolve(run.run_id, "send", { principal: ana, as: "undo" });
    expect((await run.result()).steps.send).toEqual({ state: "compensated", confirmed: false });
    expect(undone).toEqual([{ input: {}, output: { number: 7 }, key: send.calls[0]?.context.key }]);
  });

  it("is not handed to another step or run that asks for the same", async () => {
    const { send, tools } = cast({ identity: ["to"], onDuplicate: "reuse" });
    const engine = await newStage().open({ tools });
    const plan = { steps: [{ step_id: "s", name: "send", payload: { to: "ana" } }] };
    await (await engine.submit(plan, { principal: bot })).result();
    const again = await (await engine.submit(plan, { principal: bot })).result();
    expect(again.steps.s).toMatchObject({ state: "rejected", fault: { code: "SCHEMA_VALIDATION_FAILED" } });
    expect(send.calls).toHaveLength(1);
  });
});

describe.each(places)("the fault of a tool, on $name", ({ newStage }) => {
  it("is recorded as data, without a stack, and is cut where it is too long", async () => {
    const look = actor("look", () => Promise.reject(new Error("x".repeat(100_000))), { effect: "reads" });
    const engine = await newStage().open({ tools: [look.tool] });
    const run = await engine.submit(one("look"), { principal: bot });
    await run.result();
    const [failed] = await eventsOf(run, "step.failed");
    expect(failed?.fault.message.length).toBeLessThanOrEqual(2000);
    expect(Object.keys(failed?.fault ?? {}).sort()).toEqual(["code", "message"]);
  });

  it("named by a tool that runs elsewhere keeps its code and detail", async () => {
    const look = actor("look", says("AUTH_FORBIDDEN"), { effect: "reads" });
    const engine = await newStage().open({ tools: [look.tool] });
    const result = await (await engine.submit(one("look"), { principal: bot })).result();
    expect(result.steps.a).toMatchObject({ fault: { code: "AUTH_FORBIDDEN" } });
  });

  it("with a code that nobody knows is a plain failure", async () => {
    const odd = Object.assign(new Error("odd"), { fault: { code: "MADE_UP", message: "?" } });
    const look = actor("look", () => Promise.reject(odd), { effect: "reads" });
    const engine = await newStage().open({ tools: [look.tool] });
    const result = await (await engine.submit(one("look"), { principal: bot })).result();
    expect(result.steps.a).toMatchObject({ state: "failed_final", fault: { code: "TOOL_FAILED" } });
  });
});

describe.each(places)("what a step meant to the world, on $name", ({ newStage }) => {
  it("is recorded beside its state", async () => {
    const stage = newStage();
    const deeds: Readonly<Record<string, [Parameters<typeof actor>[1], object]>> = {
      look: [() => 1, { effect: "reads" }],
      draft: [() => 1, { effect: "writes" }],
      send: [() => ({ id: "m1" }), { compensate: async () => null }],
      flaky: [[says("RATE_LIMIT"), () => 1], {}],
      bad: [says("AUTH_FORBIDDEN"), {}],
      odd: [() => ({ number: 7 }), { output: id }],
      lost: [() => Promise.reject(new Error("reset")), {}],
    };
    const tools = Object.entries(deeds).map(([name, [script, more]]) => actor(name, script, more).tool);
    const engine = await stage.open({ tools });
    const steps = Object.keys(deeds).map((name) => ({ step_id: name, name, on_failure: "skip" }));
    const run = await engine.submit({ steps }, { principal: bot });
    await stage.rest(run);
    await engine.resolve(run.run_id, "send", { principal: ana, as: "undo" });
    await run.result();
    const worlds = new Map<string, string[]>();
    for (const event of await journalOf(run)) {
      if (!("world" in event) || event.step_id.startsWith("undo")) continue;
      worlds.set(event.step_id, [...(worlds.get(event.step_id) ?? []), event.world]);
    }
    expect(Object.fromEntries(worlds)).toEqual({
      look: ["pure"],
      draft: ["state_changed"],
      send: ["side_effect_committed"],
      flaky: ["retryable_failure", "side_effect_committed"],
      bad: ["permanent_failure"],
      odd: ["compensatable_failure"],
    });
    expect((await eventsOf(run, "step.doubted")).map(({ step_id }) => step_id)).toEqual(["lost"]);
    expect((await eventsOf(run, "step.compensated")).map(({ step_id }) => step_id)).toEqual(["send"]);
  });
});
