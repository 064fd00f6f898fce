import assert from "node:assert/strict";
import { describe, expect, it } from "vitest";
import type { CallAnswer } from "../../src/core/run/call-answer.ts";
import type { BegunCall } from "../../src/engine/api/open-run-api.ts";
import { defineTool } from "../../src/schema/define-tool.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { gated, gateOf, mailTool, openChat, openedChat, searchTool } from "./open-run-fixture.ts";
import { collectEvents, collectJournal, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const anything = {} as const;

/** Tools whose work a host does itself: one that acts, and one that reads. */
const bash = defineTool({
  name: "Bash",
  effect: "acts",
  input: anything,
  output: anything,
  timeoutMs: 60_000,
  run: "external",
});
const look = defineTool({ name: "Read", effect: "reads", input: anything, output: anything, run: "external" });
const tools = [{ tool: bash, calls: [] }, { tool: look, calls: [] }, mailTool(), searchTool()];
const call = { id: "toolu_1", tool: "Bash", input: { command: "make" } };

function begun(answer: BegunCall | CallAnswer): BegunCall {
  assert("go" in answer, `the call may begin, and is ${JSON.stringify(answer)}`);
  return answer;
}

describe.each(storeKinds)("R9: a call that a host does itself, on $name", ({ newFixture }) => {
  it("begins when its start is on record, and ends with the report of the host", async () => {
    const { engine, run } = await openedChat(newFixture(), tools);
    const { token, until, input, key } = begun(await run.beginCall(call));
    expect(input).toEqual(call.input);
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    const waiting = { status: "waiting", blocked: { step_id: "c1", reason_code: "HOST_AT_WORK", until } };
    expect(await run.findCall(call.id)).toEqual(waiting);
    expect(await run.beginCall(call)).toEqual(waiting);
    const done = { status: "succeeded", output: { exit: 0 } };
    expect(await run.endCall(token, { output: { exit: 0 } })).toEqual(done);
    expect(await run.endCall(token, { output: { exit: 0 } })).toEqual(done);
    expect(await run.beginCall(call)).toEqual(done);
    const handle = await engine.run(run.run_id, { principal: botAgent });
    const events = await collectJournal(handle);
    expect(events.map(({ type }) => type)).toEqual(["run.accepted", "step.proposed", "step.started", "step.succeeded"]);
    expect(events.at(-1)).toMatchObject({ reported_by: "bot", world: "side_effect_committed" });
    expect(JSON.stringify(events)).not.toContain(token.split("/").at(-1));
  });

  it("passes the gates of every call, and the host gets the input that was approved", async () => {
    const { engine, run } = await openedChat(newFixture(), tools, gated);
    const held = (await run.beginCall(call)) as CallAnswer;
    await engine.approve(gateOf(held), { principal: anaPerson, input: { command: "make test" } });
    expect(await run.findCall(call.id)).toMatchObject({ blocked: { reason_code: "TOOL_AWAY" } });
    const { token, input } = begun(await run.beginCall(call));
    expect(input).toEqual({ command: "make test" });
    expect(await run.endCall(token, { output: 1 })).toEqual({ status: "succeeded", output: 1 });
    const refused = (await run.beginCall({ id: "2", tool: "unknown", input: {} })) as CallAnswer;
    expect(refused).toMatchObject({ status: "refused", fault: { code: "TOOL_UNKNOWN" } });
  });

  it("waits for the person as long as the host wants, and then begins", async () => {
    const stage = newFixture();
    const { engine, run } = await openedChat(stage, tools, gated);
    const beginning = run.beginCall(call, { waitMs: 60_000 });
    await stage.advance(1000);
    const { gates } = await (await engine.run(run.run_id, { principal: anaPerson })).result();
    await engine.approve(gates[0]?.gate_id ?? "", { principal: anaPerson });
    await stage.advance(100);
    expect(begun(await beginning).go).toBe(true);
  });

  it("is ended only by its token", async () => {
    const { engine, run } = await openedChat(newFixture(), tools);
    const { token } = begun(await run.beginCall(call));
    const [id, step, attempt, secret = ""] = token.split("/");
    const wrong = [
      "",
      "token",
      `${id}/${step}/${attempt}/${secret.replace(/.$/, "")}`,
      `${id}/c2/${attempt}/${secret}`,
      `${id}/${step}/2/${secret}`,
      `run_unknown/${step}/${attempt}/${secret}`,
      `${token}/more`,
      7,
    ];
    for (const other of wrong) {
      const fault = await rejectedFault(run.endCall(other as string, { output: 1 }));
      expect(fault, String(other)).toMatchObject({ code: "AUTH_FORBIDDEN" });
    }
    const stranger = { ...botAgent, tenant: "globex" };
    expect(await rejectedFault(engine.endCall(token, { principal: stranger, output: 1 }))).toMatchObject({
      code: "AUTH_FORBIDDEN",
    });
    expect(await run.findCall(call.id)).toMatchObject({ blocked: { reason_code: "HOST_AT_WORK" } });
  });

  it("is in doubt when its time is over, and a late report settles it", async () => {
    const stage = newFixture();
    const { run } = await openedChat(stage, tools);
    const { token } = begun(await run.beginCall(call, { forMs: 1000 }));
    await stage.advance(2000);
    expect(await run.findCall(call.id)).toMatchObject({ status: "in_doubt", attempt: 1 });
    expect(await run.endCall(token, { output: "late" })).toEqual({ status: "succeeded", output: "late" });
  });

  it.each([
    ["says that nothing was done", { notDone: { message: "no such file" } }, { status: "failed" }],
    ["says that it failed", { fault: { message: "exit 1" } }, { status: "in_doubt" }],
    ["names a fault", { fault: { code: "NETWORK_TIMEOUT", message: "no answer" } }, { status: "in_doubt" }],
    ["reports an error as MCP does", { output: { isError: true, content: [] } }, { status: "in_doubt" }],
  ] as const)("answers as its host %s, in time and late", async (_, report, answer) => {
    const stage = newFixture();
    const { run } = await openedChat(stage, tools);
    const { token } = begun(await run.beginCall(call));
    expect(await run.endCall(token, report)).toMatchObject(answer);
    const late = begun(await run.beginCall({ ...call, id: "2" }, { forMs: 1000 }));
    await stage.advance(2000);
    expect(await run.endCall(late.token, report)).toMatchObject(answer);
  });

  it("ends without an act for a tool that does not act: it fails after its time, and a late output is evidence", async () => {
    const stage = newFixture();
    const { engine, run } = await openedChat(stage, tools);
    const read = { id: "r", tool: "Read", input: { path: "a" } };
    const { token, key } = begun(await run.beginCall(read, { forMs: 1000 }));
    expect(key).toBe("");
    await stage.advance(2000);
    expect(await run.findCall("r")).toMatchObject({ status: "failed", fault: { code: "TOOL_TIMEOUT" } });
    expect(await run.endCall(token, { output: "late" })).toMatchObject({ status: "failed" });
    const kept = await collectEvents(await engine.run(run.run_id, { principal: botAgent }), "evidence.kept");
    expect(kept).toMatchObject([{ evidence: "late" }]);
    const again = begun(await run.beginCall({ ...read, id: "r2" }));
    expect(await run.endCall(again.token, { output: "text" })).toEqual({ status: "succeeded", output: "text" });
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], rows: [] });
  });

  it("goes on when the worker dies, and ends in another process", async () => {
    const stage = newFixture();
    const { run } = await openedChat(stage, tools);
    const { token } = begun(await run.beginCall(call, { forMs: 600_000 }));
    await stage.crash();
    const other = await stage.open({ tools: tools.map(({ tool }) => tool) });
    await stage.advance(120_000);
    const again = await openChat(other, { waitMs: 60_000 });
    expect(await again.findCall(call.id)).toMatchObject({ blocked: { reason_code: "HOST_AT_WORK" } });
    const report = { principal: botAgent, output: { exit: 0 } };
    expect(await other.endCall(token, report)).toEqual({ status: "succeeded", output: { exit: 0 } });
    expect(await again.beginCall(call)).toEqual({ status: "succeeded", output: { exit: 0 } });
  });

  it("is in doubt after its time also if no process holds the run", async () => {
    const stage = newFixture();
    const { run } = await openedChat(stage, tools);
    begun(await run.beginCall(call, { forMs: 60_000 }));
    await stage.crash();
    const other = await stage.open({ tools: tools.map(({ tool }) => tool) });
    await stage.advance(200_000);
    const { steps } = await (await other.run(run.run_id, { principal: anaPerson })).result();
    expect(steps.c1).toMatchObject({ state: "in_doubt" });
  });

  it("ends from an engine that executes nothing", async () => {
    const stage = newFixture();
    const { run } = await openedChat(stage, tools);
    const { token } = begun(await run.beginCall(call));
    const window = await stage.open({ tools: [bash], work: false });
    expect(await window.endCall(token, { principal: anaPerson, output: 1 })).toEqual({
      status: "succeeded",
      output: 1,
    });
    const bare = await stage.open({ tools: [], work: false });
    const next = begun(await run.beginCall({ ...call, id: "2" }));
    const fault = await rejectedFault(bare.endCall(next.token, { principal: anaPerson, output: 1 }));
    expect(fault).toMatchObject({ code: "TOOL_MISSING" });
    expect(await run.endCall(next.token, { output: 2 })).toMatchObject({ status: "succeeded" });
  });

  it("keeps the run: it is neither released nor handed over until the call has ended", async () => {
    const stage = newFixture();
    const { run } = await openedChat(stage, tools);
    const { token } = begun(await run.beginCall(call));
    expect(await rejectedFault(run.release())).toMatchObject({ code: "NOT_POSSIBLE" });
    const other = await stage.open({ tools: tools.map(({ tool }) => tool) });
    const opening = rejectedFault(openChat(other, { waitMs: 100 }));
    await stage.advance(500);
    expect(await opening).toMatchObject({ code: "SESSION_BUSY" });
    await run.endCall(token, { output: 1 });
    await run.release();
    expect(await openChat(other)).toMatchObject({ run_id: run.run_id, attached: true });
  });

  it("is cancelled by the close of its run if it does not act; an act ends, or is settled", async () => {
    const stage = newFixture();
    const { engine, run } = await openedChat(stage, tools);
    const read = begun(await run.beginCall({ id: "r", tool: "Read", input: {} }));
    const act = begun(await run.beginCall(call));
    expect(await run.close()).toMatchObject({ status: "closing" });
    expect(await run.findCall("r")).toEqual({ status: "cancelled" });
    expect(await run.endCall(act.token, { output: 1 })).toMatchObject({ status: "succeeded" });
    const result = await (await engine.run(run.run_id, { principal: botAgent })).result();
    expect(result).toMatchObject({ status: "completed", final: true });
    expect(await run.endCall(read.token, { output: 1 })).toEqual({ status: "cancelled" });
  });

  it("can be any tool; one without a handler waits clearly in a plan and when it is called", async () => {
    const sent = mailTool();
    const { engine, run } = await openedChat(newFixture(), [sent, ...tools.slice(0, 2)]);
    const { token } = begun(await run.beginCall({ id: "m", tool: "mail", input: {} }));
    expect(await run.endCall(token, { output: "sent" })).toMatchObject({ status: "succeeded" });
    expect(sent.calls.length).toBe(0);
    expect(await run.callTool(call)).toMatchObject({ status: "waiting", blocked: { reason_code: "TOOL_AWAY" } });
    expect(await run.callTool(call, { run: () => "by a closure" })).toMatchObject({ output: "by a closure" });
    const plan = { steps: [{ step_id: "a", name: "Bash", payload: {} }] };
    const planned = await (await engine.submit(plan, { principal: botAgent })).result();
    expect(planned).toMatchObject({ final: false, blocked_on: [{ step_id: "a", reason_code: "TOOL_AWAY" }] });
  });

  it("keeps its identity: the same act by another call is held", async () => {
    const unique = scriptedTool("pay", () => 1, { identity: ["/order"] });
    const { run } = await openedChat(newFixture(), [unique]);
    const pay = (id: string) => run.beginCall({ id, tool: "pay", input: { order: 7 } });
    const { token } = begun(await pay("1"));
    await run.endCall(token, { output: 1 });
    expect(await pay("2")).toMatchObject({ status: "held" });
  });

  it("refuses bad options and bad reports", async () => {
    const { run } = await openedChat(newFixture(), [searchTool(), ...tools.slice(0, 2)]);
    for (const forMs of [0, 1.5, -1, 2 ** 40])
      expect((await rejectedFault(run.beginCall(call, { forMs }))).code).toBe("INVALID_INPUT");
    expect((await rejectedFault(run.beginCall(call, { run: () => 1 } as never))).code).toBe("INVALID_INPUT");
    const { token } = begun(await run.beginCall(call));
    for (const report of [
      {},
      { output: 1, fault: { message: "" } },
      { fault: "text" },
      { notDone: {} },
      { done: 1 },
      7,
    ])
      expect((await rejectedFault(run.endCall(token, report as never))).code, JSON.stringify(report)).toBe(
        "INVALID_INPUT",
      );
    expect(await run.endCall(token, { output: undefined })).toEqual({ status: "succeeded", output: null });
  });

  it("is not begun if the host stops waiting before", async () => {
    const stage = newFixture();
    const { run } = await openedChat(stage, tools, gated);
    const stop = new AbortController();
    const waiting = run.beginCall(call, { waitMs: 60_000, signal: stop.signal });
    await stage.advance(10);
    stop.abort(new Error("stopped"));
    await expect(waiting).rejects.toThrow("stopped");
    expect(await run.findCall(call.id)).toMatchObject({ status: "held" });
  });
});
