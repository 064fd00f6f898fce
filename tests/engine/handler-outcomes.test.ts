import { describe, expect, it } from "vitest";
import { type FaultCode, FaultError } from "../../src/core/values/fault.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import {
  collectEvents,
  collectJournal,
  rejectedFault,
  scriptedTool,
  type ToolBehaviour,
  throwsFault,
  throwsNotDone,
} from "./scripted-tool.ts";

const id = { type: "object", properties: { id: { type: "string" } }, required: ["id"] };
const one = (name: string, more: object = {}) => ({ steps: [{ step_id: "a", name, ...more }] });

describe.each(storeKinds)("handler outcome, on $name", ({ newFixture: newStage }) => {
  it.each([
    ["success: false", { success: false, error: "mailbox full" }],
    ["isError, as MCP has it", { isError: true, content: [{ type: "text", text: "mailbox full" }] }],
  ])("is a failure when it returns %s", async (_, answer) => {
    const look = scriptedTool("look", () => answer, { effect: "reads" });
    const engine = await newStage().open({ tools: [look.tool] });
    const result = await (await engine.submit(one("look"), { principal: botAgent })).result();
    expect(result.steps.a).toMatchObject({ state: "failed_final", fault: { code: "TOOL_FAILED" } });
    expect(JSON.stringify(result.steps.a)).toContain("mailbox full");
  });

  it("keeps the value of a reported failure, without secrets", async () => {
    const answer = { success: false, message: "half done", value: { done: 3, token: "s3cret" } };
    const look = scriptedTool("look", () => answer, { effect: "reads", redact: ["/token"] });
    const engine = await newStage().open({ tools: [look.tool] });
    const result = await (await engine.submit(one("look"), { principal: botAgent })).result();
    expect(result.steps.a).toMatchObject({ fault: { code: "TOOL_FAILED", detail: { value: { done: 3 } } } });
    expect(JSON.stringify(result)).not.toContain("s3cret");
  });

  it.each([
    ["success: false", () => ({ success: false })],
    ["isError", () => ({ isError: true, content: [] })],
    ["an error", () => Promise.reject(new Error("no"))],
  ])("leaves an act in doubt when it returns %s, and not done where errors mean not_done", async (_, deed) => {
    const unsure = scriptedTool("unsure", deed);
    const sure = scriptedTool("sure", deed, { errorsMean: "not_done" });
    const engine = await newStage().open({ tools: [unsure.tool, sure.tool] });
    const doubted = await (await engine.submit(one("unsure"), { principal: botAgent })).result();
    expect(doubted.steps.a).toMatchObject({ state: "in_doubt" });
    const run = await engine.submit(one("sure"), { principal: botAgent });
    expect((await run.result()).steps.a).toMatchObject({ state: "failed_final", fault: { code: "TOOL_FAILED" } });
    expect(await collectEvents(run, "step.doubted")).toEqual([]);
  });

  it.each<[string, ToolBehaviour, string]>([
    ["a code that is not in the table of faults", throwsFault("NOT_A_CODE" as FaultCode), "NOT_A_CODE"],
    ["the name of what every object has", throwsFault("constructor" as FaultCode), "constructor"],
    ["no code at all", throwsFault(undefined as unknown as FaultCode), "undefined"],
    ["an error that has no text", () => Promise.reject(Object.create(null)), "without a text"],
  ])("is a recorded failure when it throws %s", async (_, deed, named) => {
    const look = scriptedTool("look", deed, { effect: "reads" });
    const send = scriptedTool("send", deed);
    const engine = await newStage().open({ tools: [look.tool, send.tool] });
    const { steps } = await (await engine.submit(one("look"), { principal: botAgent })).result();
    expect(steps.a).toMatchObject({ state: "failed_final", fault: { code: "TOOL_FAILED" } });
    expect(JSON.stringify(steps.a)).toContain(named);
    const doubted = await (await engine.submit(one("send"), { principal: botAgent })).result();
    expect(doubted.steps.a).toMatchObject({ state: "in_doubt", fault: { detail: { code: "TOOL_FAILED" } } });
  });

  it("keeps the statement that nothing was done, whatever the fault code", async () => {
    const send = scriptedTool("send", throwsNotDone("NOT_A_CODE" as FaultCode));
    const engine = await newStage().open({ tools: [send.tool] });
    const { steps } = await (await engine.submit(one("send"), { principal: botAgent })).result();
    expect(steps.a).toMatchObject({ state: "failed_final", fault: { code: "TOOL_FAILED" } });
  });

  it("is stored as far as possible when a fault has a detail that is not JSON", async () => {
    const deed = () => Promise.reject(new FaultError({ code: "POLICY_DENIED", message: "no", detail: 7n as never }));
    const look = scriptedTool("look", deed, { effect: "reads" });
    const engine = await newStage().open({ tools: [look.tool] });
    const { steps } = await (await engine.submit(one("look"), { principal: botAgent })).result();
    expect(steps.a).toMatchObject({ state: "failed_final", fault: { code: "POLICY_DENIED", detail: null } });
  });

  it("fails a step whose output does not match its schema, and drops the output", async () => {
    const look = scriptedTool("look", () => ({ id: 7 }), { effect: "reads", output: id });
    const engine = await newStage().open({ tools: [look.tool] });
    const run = await engine.submit(one("look"), { principal: botAgent });
    expect((await run.result()).steps.a).toMatchObject({
      state: "failed_final",
      fault: { code: "SCHEMA_VALIDATION_FAILED" },
    });
    const [failed] = await collectEvents(run, "step.failed");
    expect(failed).not.toHaveProperty("output");
    expect(failed).toMatchObject({ world: "permanent_failure", retry_at: null });
  });

  it("is refused above the size limit, and the act stays recorded", async () => {
    const send = scriptedTool("send", () => ({ id: "x".repeat(5000) }), { output: id });
    const engine = await newStage().open({ tools: [send.tool], limits: { outputBytes: 1000 } });
    const run = await engine.submit(one("send"), { principal: botAgent });
    expect((await run.result()).steps.a).toMatchObject({ state: "failed_final", fault: { code: "LIMIT_EXCEEDED" } });
    expect(await collectEvents(run, "step.failed")).toMatchObject([{ world: "compensatable_failure" }]);
  });

  it.each([
    ["null", null, null],
    ["nothing at all", undefined, null],
    ["a bare text", "hello", "hello"],
    ["a value that is not JSON", { at: new Date(0), f: () => 1 }, { at: "1970-01-01T00:00:00.000Z" }],
  ])("can be %s without harm", async (_, answer, expected) => {
    const look = scriptedTool("look", () => answer, { effect: "reads" });
    const engine = await newStage().open({ tools: [look.tool] });
    const result = await (await engine.submit(one("look"), { principal: botAgent })).result();
    expect(result.steps.a).toEqual({ state: "succeeded", output: expected });
  });
});

describe.each(storeKinds)("act with an output that does not match, on $name", ({ newFixture: newStage }) => {
  const steps = [
    { step_id: "send", name: "send" },
    { step_id: "after", name: "after", bindings: { "/id": { step: "send", path: "/id" } } },
  ];
  const cast = (more: object = {}) => {
    const send = scriptedTool("send", () => ({ number: 7 }), { output: id, ...more });
    const after = scriptedTool("after", ({ input }) => input, { effect: "reads" });
    return { send, after, tools: [send.tool, after.tool] };
  };

  it("is committed with its output, failed finally, and never done again", async () => {
    const { send, tools } = cast();
    const engine = await newStage().open({ tools });
    const run = await engine.submit({ steps }, { principal: botAgent });
    expect(await run.result()).toMatchObject({
      status: "failed",
      steps: {
        send: { state: "failed_final", fault: { code: "SCHEMA_VALIDATION_FAILED" } },
        after: { state: "skipped" },
      },
    });
    expect(await collectEvents(run, "step.failed")).toMatchObject([
      { world: "compensatable_failure", output: { number: 7 }, retry_at: null, ledger: { generation: 1 } },
    ]);
    await engine.resume(run.run_id, { principal: botAgent });
    expect(await run.result()).toMatchObject({ steps: { send: { state: "failed_final" } } });
    expect(send.calls).toHaveLength(1);
  });

  it("continues after a person supplies the real output", async () => {
    const { send, after, tools } = cast();
    const engine = await newStage().open({ tools });
    const run = await engine.submit({ steps }, { principal: botAgent });
    await run.result();
    const wrong = engine.resolve(run.run_id, "send", { principal: anaPerson, as: "happened", output: { number: 8 } });
    expect((await rejectedFault(wrong)).message).toContain("does not fit send");
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "happened", output: { id: "m7" } });
    expect((await run.result()).steps.send).toEqual({ state: "succeeded", output: { id: "m7" } });
    await engine.resume(run.run_id, { principal: botAgent });
    expect(await run.result()).toMatchObject({ status: "completed", steps: { after: { output: { id: "m7" } } } });
    expect(send.calls).toHaveLength(1);
    expect(after.calls).toHaveLength(1);
  });

  it("is undone on request, with its output", async () => {
    const undone: unknown[] = [];
    const compensate = async (done: unknown) => void undone.push(done);
    const { send, tools } = cast({ compensate });
    const engine = await newStage().open({ tools });
    const run = await engine.submit({ steps }, { principal: botAgent });
    await run.result();
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "undo" });
    expect((await run.result()).steps.send).toEqual({ state: "compensated", confirmed: false });
    expect(undone).toEqual([{ input: {}, output: { number: 7 }, key: send.calls[0]?.context.key, changes: [] }]);
  });

  it("is not reused by another step or run", async () => {
    const { send, tools } = cast({ identity: ["to"], onDuplicate: "reuse" });
    const engine = await newStage().open({ tools });
    const plan = { steps: [{ step_id: "s", name: "send", payload: { to: "ana" } }] };
    await (await engine.submit(plan, { principal: botAgent })).result();
    const again = await (await engine.submit(plan, { principal: botAgent })).result();
    expect(again.steps.s).toMatchObject({ state: "rejected", fault: { code: "SCHEMA_VALIDATION_FAILED" } });
    expect(send.calls).toHaveLength(1);
  });
});

describe.each(storeKinds)("fault of a tool, on $name", ({ newFixture: newStage }) => {
  it("is recorded as data, without a stack, and is cut above the length limit", async () => {
    const look = scriptedTool("look", () => Promise.reject(new Error("x".repeat(100_000))), { effect: "reads" });
    const engine = await newStage().open({ tools: [look.tool] });
    const run = await engine.submit(one("look"), { principal: botAgent });
    await run.result();
    const [failed] = await collectEvents(run, "step.failed");
    expect(failed?.fault.message.length).toBeLessThanOrEqual(2000);
    expect(Object.keys(failed?.fault ?? {}).sort()).toEqual(["code", "message"]);
  });

  it("from a remote tool keeps its code and detail", async () => {
    const look = scriptedTool("look", throwsNotDone("AUTH_FORBIDDEN"), { effect: "reads" });
    const engine = await newStage().open({ tools: [look.tool] });
    const result = await (await engine.submit(one("look"), { principal: botAgent })).result();
    expect(result.steps.a).toMatchObject({ fault: { code: "AUTH_FORBIDDEN" } });
  });

  it("with an unknown code is a plain failure", async () => {
    const odd = Object.assign(new Error("odd"), { fault: { code: "MADE_UP", message: "?" } });
    const look = scriptedTool("look", () => Promise.reject(odd), { effect: "reads" });
    const engine = await newStage().open({ tools: [look.tool] });
    const result = await (await engine.submit(one("look"), { principal: botAgent })).result();
    expect(result.steps.a).toMatchObject({ state: "failed_final", fault: { code: "TOOL_FAILED" } });
  });
});

describe.each(storeKinds)("effect of a step, on $name", ({ newFixture: newStage }) => {
  it("is recorded beside its state", async () => {
    const stage = newStage();
    const deeds: Readonly<Record<string, [Parameters<typeof scriptedTool>[1], object]>> = {
      look: [() => 1, { effect: "reads" }],
      draft: [() => 1, { effect: "writes" }],
      send: [() => ({ id: "m1" }), { compensate: async () => null }],
      flaky: [[throwsNotDone("RATE_LIMIT"), () => 1], {}],
      bad: [throwsNotDone("AUTH_FORBIDDEN"), {}],
      odd: [() => ({ number: 7 }), { output: id }],
      lost: [() => Promise.reject(new Error("reset")), {}],
    };
    const tools = Object.entries(deeds).map(([name, [script, more]]) => scriptedTool(name, script, more).tool);
    const engine = await stage.open({ tools });
    const steps = Object.keys(deeds).map((name) => ({ step_id: name, name, on_failure: "skip" }));
    const run = await engine.submit({ steps }, { principal: botAgent });
    await stage.runUntilIdle(run);
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "undo" });
    await run.result();
    const worlds = new Map<string, string[]>();
    for (const event of await collectJournal(run)) {
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
    expect((await collectEvents(run, "step.doubted")).map(({ step_id }) => step_id)).toEqual(["lost"]);
    expect((await collectEvents(run, "step.compensated")).map(({ step_id }) => step_id)).toEqual(["send"]);
  });
});
