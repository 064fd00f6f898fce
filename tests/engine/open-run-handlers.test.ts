import { describe, expect, it } from "vitest";
import type { Json } from "../../src/core/values/json.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { gated, gateOf, mailTool, openChat, openedChat } from "./open-run-fixture.ts";
import { collectEvents } from "./scripted-tool.ts";

const call = { id: "1", tool: "mail", input: { to: "ana" } };

describe.each(storeKinds)("R8: a function that runs one call on $name", ({ newFixture }) => {
  it("runs instead of the handler of the tool, with the same context", async () => {
    const sent = mailTool();
    const { run } = await openedChat(newFixture(), [sent]);
    const keys: string[] = [];
    const own = (input: Json, context: { readonly key: string }) => {
      keys.push(context.key);
      return { own: input };
    };
    expect(await run.callTool(call, { run: own })).toEqual({ status: "succeeded", output: { own: { to: "ana" } } });
    expect(keys[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(sent.calls.length).toBe(0);
  });

  it("is dropped when the call was returned as held: the approved call waits until it is proposed again", async () => {
    const sent = mailTool();
    const { engine, run } = await openedChat(newFixture(), [sent], gated);
    let runs = 0;
    const own = () => {
      runs += 1;
      return runs;
    };
    const held = await run.callTool(call, { run: own });
    await engine.approve(gateOf(held), { principal: anaPerson });
    const away = await run.findCall("1");
    expect(away).toMatchObject({ status: "waiting", blocked: { reason_code: "TOOL_AWAY" } });
    expect(runs).toBe(0);
    expect(await run.callTool(call, { run: own })).toEqual({ status: "succeeded", output: 1 });
    expect(await run.callTool(call, { run: own })).toEqual({ status: "succeeded", output: 1 });
    expect(runs).toBe(1);
    expect(sent.calls.length).toBe(0);
  });

  it("is kept while this process holds the run if the caller says so", async () => {
    const { engine, run } = await openedChat(newFixture(), [mailTool()], gated);
    const held = await run.callTool(call, { run: () => "kept", keepHandler: true });
    await engine.approve(gateOf(held), { principal: anaPerson });
    expect(await run.findCall("1")).toEqual({ status: "succeeded", output: "kept" });
  });

  it("is never replaced by the handler of the tool in another process", async () => {
    const stage = newFixture();
    const { engine, run } = await openedChat(stage, [mailTool()], gated);
    const held = await run.callTool(call, { run: () => "here" });
    await stage.crash();
    const sent = mailTool();
    const other = await stage.open({ tools: [sent.tool], ...gated });
    await other.approve(gateOf(held), { principal: anaPerson });
    await stage.advance(60_000);
    expect(sent.calls.length).toBe(0);
    const again = await openChat(other, { waitMs: 100 });
    expect(await again.callTool(call)).toMatchObject({ blocked: { reason_code: "TOOL_AWAY" } });
    expect(await again.callTool(call, { run: () => "there" })).toEqual({ status: "succeeded", output: "there" });
    const parked = await collectEvents(await other.run(run.run_id, { principal: botAgent }), "step.parked");
    expect(parked.length).toBe(1);
    void engine;
  });

  it("uses an approval only while it is valid: after that the call is held again", async () => {
    const stage = newFixture();
    const { engine, run } = await openedChat(stage, [mailTool()], { ...gated, limits: { useWithinMs: 1000 } });
    const held = await run.callTool(call, { run: () => 1 });
    await engine.approve(gateOf(held), { principal: anaPerson });
    await stage.advance(2000);
    const again = await run.callTool(call, { run: () => 1 });
    expect(again).toMatchObject({ status: "held" });
    expect(gateOf(again)).not.toBe(gateOf(held));
  });

  it("may be given later: the call is judged at once, and waits only if it may start", async () => {
    const sent = mailTool();
    const { engine, run } = await openedChat(newFixture(), [sent]);
    const judged = await run.callTool(call, { run: null });
    expect(judged).toMatchObject({ status: "waiting", blocked: { reason_code: "TOOL_AWAY" } });
    expect(await run.callTool(call, { run: () => "later" })).toEqual({ status: "succeeded", output: "later" });
    expect(sent.calls.length).toBe(0);
    const started = await collectEvents(await engine.run(run.run_id, { principal: botAgent }), "step.started");
    expect(started.length).toBe(1);
  });

  it("need not be there for the call to be held or refused", async () => {
    const { run } = await openedChat(newFixture(), [mailTool()], gated);
    expect(await run.callTool(call, { run: null })).toMatchObject({ status: "held" });
    const denied = await openedChat(newFixture(), [mailTool({ roles: ["boss"] })]);
    expect(await denied.run.callTool(call, { run: null })).toMatchObject({ status: "refused" });
  });

  it("may be given later for a call that does not act", async () => {
    const { run } = await openedChat(newFixture(), [mailTool({ effect: "reads" })]);
    expect(await run.callTool(call, { run: null })).toMatchObject({ blocked: { reason_code: "TOOL_AWAY" } });
    expect(await run.callTool(call, { run: () => "read" })).toEqual({ status: "succeeded", output: "read" });
  });

  it("may throw, and the act is in doubt", async () => {
    const { run } = await openedChat(newFixture(), [mailTool()]);
    const broken = () => {
      throw new Error("gone");
    };
    expect(await run.callTool(call, { run: broken })).toMatchObject({ status: "in_doubt" });
  });
});

describe.each(storeKinds)("the output of a call on $name", ({ newFixture }) => {
  class Receipt {
    readonly at = new Date(0);
    readonly note = undefined;
  }

  it.each<[string, unknown, Json]>([
    ["nothing is null", undefined, null],
    ["a date is text", new Date(0), "1970-01-01T00:00:00.000Z"],
    ["an object of a class is its fields", new Receipt(), { at: "1970-01-01T00:00:00.000Z" }],
  ])("is stored as data: %s", async (_, output, stored) => {
    const { run } = await openedChat(newFixture(), [mailTool()]);
    expect(await run.callTool(call, { run: () => output })).toEqual({ status: "succeeded", output: stored });
  });

  it.each<[string, unknown]>([
    ["a number that is not finite", Number.NaN],
    ["a bigint", 1n],
    ["bytes", new Uint8Array(2)],
    ["a stream", new ReadableStream()],
  ])("is a clear fault if its schema refuses %s, and an act is done all the same", async (_, output) => {
    const strict = mailTool({ output: { type: "object", required: ["id"] } });
    const { engine, run } = await openedChat(newFixture(), [strict]);
    const answer = await run.callTool(call, { run: () => output });
    expect(answer).toMatchObject({ status: "failed", fault: { code: "SCHEMA_VALIDATION_FAILED" } });
    const failed = await collectEvents(await engine.run(run.run_id, { principal: botAgent }), "step.failed");
    expect(failed).toMatchObject([{ world: "compensatable_failure" }]);
  });

  it("is still judged by the schema of its tool", async () => {
    const strict = mailTool({ output: { type: "object" } });
    const { run } = await openedChat(newFixture(), [strict]);
    expect(await run.callTool(call, { run: () => undefined })).toMatchObject({ status: "failed" });
  });

  it("may have five megabytes", async () => {
    const { run } = await openedChat(newFixture(), [mailTool()]);
    const answer = await run.callTool(call, { run: () => "x".repeat(5_000_000) });
    expect(answer.status === "succeeded" && String(answer.output).length).toBe(5_000_000);
  });
});
