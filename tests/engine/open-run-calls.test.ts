import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, it } from "vitest";
import type { ToolContext } from "../../src/core/tool/tool.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { gated, gateOf, mailTool, openChat, openedChat, reads, searchTool } from "./open-run-fixture.ts";
import { collectJournal, deferred, rejectedFault, scriptedTool, throwsFault } from "./scripted-tool.ts";

describe.each(storeKinds)("R3, R6, R10: an open run on $name", ({ newFixture }) => {
  it("answers a call when it rests, and a repeated call from the record", async () => {
    const found = searchTool();
    const { engine, run } = await openedChat(newFixture(), [found]);
    const call = { id: "toolu_01.a:b", tool: "search", input: { q: 1 } };
    expect(await run.callTool(call)).toEqual({ status: "succeeded", output: { found: 1 } });
    expect(await run.callTool(call)).toEqual({ status: "succeeded", output: { found: 1 } });
    expect(found.calls.length).toBe(1);
    expect(await run.findCall(call.id)).toEqual({ status: "succeeded", output: { found: 1 } });
    expect(await run.findCall("another")).toBeNull();
    const { steps, status, final } = await (await engine.run(run.run_id, { principal: botAgent })).result();
    expect({ steps: Object.keys(steps), status, final }).toEqual({ steps: ["c1"], status: "open", final: false });
  });

  it("records once that a client has the answer of a call, and knows it after a crash", async () => {
    const stage = newFixture();
    const { run } = await openedChat(stage, [searchTool()]);
    for (const id of ["a", "b"]) await run.callTool({ id, tool: "search", input: {} });
    await run.markDelivered("a", { to: "editor" });
    await run.markDelivered("a", { to: "editor" });
    await run.release();
    await stage.crash();
    const { engine, run: again } = await openedChat(stage, [searchTool()]);
    const calls = (await again.turns()).flatMap((turn) => turn.calls);
    expect(calls.map(({ id, delivered }) => [id, delivered])).toEqual([
      ["a", true],
      ["b", false],
    ]);
    const events = await collectJournal(await engine.run(run.run_id, { principal: botAgent }));
    expect(events.filter(({ type }) => type === "step.delivered")).toMatchObject([{ step_id: "c1", to: "editor" }]);
    expect((await rejectedFault(again.markDelivered("c", { to: "editor" }))).code).toBe("STEP_NOT_FOUND");
    expect((await rejectedFault(again.markDelivered("a", { to: "" }))).code).toBe("INVALID_INPUT");
  });

  it("is the same run for the same session, also after a crash and in another process", async () => {
    const stage = newFixture();
    const found = searchTool();
    const { run } = await openedChat(stage, [found]);
    await run.callTool({ id: "a", tool: "search", input: {} });
    await stage.crash();
    const { run: again } = await openedChat(stage, [found]);
    expect(again).toMatchObject({ run_id: run.run_id, attached: true });
    expect(await again.callTool({ id: "a", tool: "search", input: {} })).toMatchObject({ status: "succeeded" });
    expect(found.calls.length).toBe(1);
  });

  it("keeps sibling calls apart: a rejected call does not touch a held one", async () => {
    const sent = mailTool();
    const found = searchTool();
    const { engine, run } = await openedChat(newFixture(), [sent, found], gated);
    const answers = await run.callTools([
      { id: "1", tool: "search", input: { q: 1 } },
      { id: "2", tool: "mail", input: { to: "a" } },
      { id: "3", tool: "mail", input: { to: "b" } },
      { id: "4", tool: "nothing", input: {} },
    ]);
    expect(answers.map(({ status }) => status)).toEqual(["succeeded", "held", "held", "refused"]);
    await engine.reject(gateOf(answers[1]), { principal: anaPerson, reason: "no" });
    expect(await run.findCall("3")).toMatchObject({ status: "held" });
    await engine.approve(gateOf(answers[2]), { principal: anaPerson });
    expect(await run.findCall("3")).toEqual({ status: "succeeded", output: { id: "c3" } });
    expect(await run.findCall("2")).toMatchObject({ status: "refused", fault: { code: "GATE_REJECTED" } });
    expect(sent.calls.length).toBe(1);
  });

  it("refuses the id of a call for another tool or another input, and takes it again in another turn", async () => {
    const found = searchTool();
    const { run } = await openedChat(newFixture(), [found, mailTool()]);
    await run.callTool({ id: "call_0", tool: "search", input: { q: 1 } }, { turn: 1 });
    for (const other of [
      { tool: "search", input: { q: 2 } },
      { tool: "mail", input: { q: 1 } },
    ]) {
      const answer = await run.callTool({ id: "call_0", ...other }, { turn: 1 });
      expect(answer).toMatchObject({ status: "refused", fault: { code: "CALL_REUSED" } });
    }
    const next = await run.callTool({ id: "call_0", tool: "search", input: { q: 2 } }, { turn: 2 });
    expect(next).toEqual({ status: "succeeded", output: { found: 2 } });
    expect(found.calls.length).toBe(2);
  });

  it("records each call whose id is that of another call once, as proposed and refused", async () => {
    const stage = newFixture();
    const { engine, run } = await openedChat(stage, [searchTool(), mailTool()]);
    const first = { id: "call_0", tool: "search", input: { q: 1 } };
    const other = { id: "call_0", tool: "mail", input: { q: 1 } };
    const answers = await run.callTools([first, other]);
    const repeated = await run.callTools([other, first, other]);
    const statuses = [...answers, ...repeated].map(({ status }) => status);
    expect(statuses).toEqual(["succeeded", "refused", "refused", "succeeded", "refused"]);
    const handle = await engine.run(run.run_id, { principal: botAgent });
    const refused = (await collectJournal(handle)).filter(({ type }) => type === "step.rejected");
    expect(refused).toMatchObject([{ rule: "call", fault: { code: "CALL_REUSED", detail: { step_id: "c1" } } }]);
    const [turn] = await run.turns();
    expect(turn?.calls.map(({ id, tool, answer }) => [id, tool, answer?.status])).toEqual([
      ["call_0", "search", "succeeded"],
      ["call_0", "mail", "refused"],
    ]);
  });

  it("records a call that cannot be made as proposed and refused", async () => {
    const strict = scriptedTool("strict", () => 1, { ...reads, input: { type: "object", required: ["q"] } });
    const { engine, run } = await openedChat(newFixture(), [strict]);
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    const bad = [
      { id: "1", tool: "unknown", input: {} },
      { id: "2", tool: "strict", input: {} },
      { id: "3", tool: "strict", input: circular },
      { id: "4", tool: "strict", input: "text" },
    ];
    const answers = await run.callTools(bad);
    const codes = answers.map((answer) => (answer.status === "refused" ? answer.fault.code : answer.status));
    expect(codes).toEqual(["TOOL_UNKNOWN", "INVALID_INPUT", "INVALID_INPUT", "INVALID_INPUT"]);
    const events = await collectJournal(await engine.run(run.run_id, { principal: botAgent }));
    expect(events.filter(({ type }) => type === "step.proposed").length).toBe(4);
    expect(events.filter(({ type }) => type === "step.rejected").length).toBe(4);
    expect(strict.calls.length).toBe(0);
  });

  it("holds the same act of another call of the session, as from a stranger", async () => {
    const sent = mailTool({ identity: ["/order"] });
    const { engine, run } = await openedChat(newFixture(), [sent]);
    await run.callTool({ id: "1", tool: "mail", input: { order: 7 } });
    const second = await run.callTool({ id: "2", tool: "mail", input: { order: 7, please: true } });
    expect(second).toMatchObject({ status: "held", gate: { reason: expect.stringContaining("DUPLICATE_EFFECT") } });
    await engine.reject(gateOf(second), { principal: anaPerson });
    expect(sent.calls.length).toBe(1);
  });

  it("runs an approved call in the context of its proposal, not in that of its approver", async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const sent = scriptedTool("mail", () => seen.push(storage.getStore()));
    const { engine, run } = await openedChat(newFixture(), [sent], gated);
    const held = await storage.run("agent", () => run.callTool({ id: "1", tool: "mail", input: {} }));
    await storage.run("approver", () => engine.approve(gateOf(held), { principal: anaPerson }));
    expect(await run.findCall("1")).toMatchObject({ status: "succeeded" });
    expect(seen).toEqual(["agent"]);
  });

  it("waits for the decision of a person as long as the caller wants", async () => {
    const stage = newFixture();
    const { engine, run } = await openedChat(stage, [mailTool()], gated);
    const call = { id: "1", tool: "mail", input: {} };
    await run.callTool(call);
    const armed = stage.armedTimers();
    const patient = run.callTool(call, { waitMs: 60_000 });
    await stage.advance(1000);
    const { gates } = await (await engine.run(run.run_id, { principal: anaPerson })).result();
    await engine.approve(gates[0]?.gate_id ?? "", { principal: anaPerson });
    await stage.advance(100);
    expect(await patient).toMatchObject({ status: "succeeded" });
    // A timer that is left would keep the process alive.
    expect(stage.armedTimers()).toBeLessThanOrEqual(armed);
  });

  it("ends the wait when the signal aborts at the moment at which the handler starts", async () => {
    const stop = new AbortController();
    const slow = scriptedTool(
      "slow",
      async () => {
        await null;
        stop.abort(new Error("stopped"));
        return new Promise(() => {});
      },
      reads,
    );
    const { run } = await openedChat(newFixture(), [slow]);
    const asked = run.callTool({ id: "a", tool: "slow", input: {} }, { signal: stop.signal });
    await expect(asked).rejects.toThrow("stopped");
    expect(slow.calls[0]?.context.signal.aborted).toBe(true);
  });

  it("ends the wait when the signal aborts: a read is stopped, an act ends by itself", async () => {
    const stage = newFixture();
    const reading = deferred<number>();
    const acting = deferred<number>();
    const slow = scriptedTool("slow", () => reading.promise, reads);
    const act = scriptedTool("act", () => acting.promise);
    const { run } = await openedChat(stage, [slow, act]);
    const stop = new AbortController();
    const first = run.callTool({ id: "1", tool: "slow", input: {} }, { signal: stop.signal });
    const second = run.callTool({ id: "2", tool: "act", input: {} }, { signal: stop.signal });
    await stage.advance(10);
    stop.abort(new Error("stopped"));
    await expect(first).rejects.toThrow("stopped");
    await expect(second).rejects.toThrow("stopped");
    expect(slow.calls[0]?.context.signal.aborted).toBe(true);
    expect(act.calls[0]?.context.signal.aborted).toBe(false);
    acting.keep(5);
    expect(await run.findCall("2")).toEqual({ status: "succeeded", output: 5 });
    expect(await run.findCall("1")).toEqual({ status: "cancelled" });
  });

  it("passes the signal to an act that stops safely: what it stops did not happen, and what has happened is recorded", async () => {
    const stage = newFixture();
    const stops = ({ context: { signal } }: { readonly context: ToolContext }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
    const goesOn = ({ context: { signal } }: { readonly context: ToolContext }) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve(5), { once: true }));
    const breaks = ({ context: { signal } }: { readonly context: ToolContext }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("cut off")), { once: true }));
    const tools = Object.entries({ stops, goesOn, breaks }).map(([name, does]) =>
      scriptedTool(name, does, { abort: "safe" }),
    );
    const { run } = await openedChat(stage, tools);
    const stop = new AbortController();
    const calls = tools.map(({ tool }) =>
      run.callTool({ id: tool.name, tool: tool.name, input: {} }, { signal: stop.signal }),
    );
    await stage.advance(10);
    expect(tools.map(({ calls: made }) => made[0]?.context.signal.aborted)).toEqual([false, false, false]);
    stop.abort(new Error("stopped"));
    for (const call of calls) await expect(call).rejects.toThrow("stopped");
    await stage.advance(10);
    expect(await run.findCall("stops")).toEqual({ status: "cancelled" });
    expect(await run.findCall("goesOn")).toEqual({ status: "succeeded", output: 5 });
    expect(await run.findCall("breaks")).toMatchObject({ status: "in_doubt" });
  });

  it("answers a failed call and a call in doubt", async () => {
    const broken = scriptedTool("broken", throwsFault("TOOL_FAILED"), reads);
    const lost = scriptedTool("lost", throwsFault("TOOL_FAILED"));
    const { run } = await openedChat(newFixture(), [broken, lost]);
    expect(await run.callTool({ id: "1", tool: "broken", input: {} })).toMatchObject({ status: "failed" });
    expect(await run.callTool({ id: "2", tool: "lost", input: {} })).toMatchObject({ status: "in_doubt", attempt: 1 });
  });

  it("refuses calls without a name, and unknown options", async () => {
    const { engine, run } = await openedChat(newFixture(), [searchTool()]);
    const call = { id: "1", tool: "search", input: {} };
    for (const bad of [
      { ...call, id: "" },
      { ...call, id: 7 },
      { ...call, tool: "" },
      { ...call, more: 1 },
    ])
      expect((await rejectedFault(run.callTool(bad as never))).code).toBe("INVALID_INPUT");
    expect((await rejectedFault(run.callTool(call, { wait: 1 } as never))).code).toBe("INVALID_INPUT");
    expect((await rejectedFault(run.callTool(call, { turn: "" }))).code).toBe("INVALID_INPUT");
    for (const bad of [
      { session: "" },
      { idleMs: 0 },
      { releaseMs: 0 },
      { agent: { name: "" } },
      { waitMs: -1 },
      { mode: "fast" },
    ])
      expect((await rejectedFault(openChat(engine, bad as never))).code).toBe("INVALID_INPUT");
  });
});
