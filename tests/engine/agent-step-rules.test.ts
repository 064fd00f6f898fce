import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, it } from "vitest";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { gated, gateOf, mailTool, openChat, openedChat, searchTool } from "./open-run-fixture.ts";
import { collectEvents, rejectedFault, scriptedTool, throwsFault } from "./scripted-tool.ts";

const send = (id: string) => ({ id, tool: "mail", input: { to: id } });
const search = (id: string) => ({ id, tool: "search", input: { q: id } });

describe.each(storeKinds)("the law for the steps of an agent on $name", ({ newFixture }) => {
  it("rule 1: a failed, refused or rejected call ends no sibling", async () => {
    const failing = scriptedTool("fail", throwsFault("TOOL_FAILED"), { effect: "reads" });
    const sent = mailTool();
    const { engine, run } = await openedChat(newFixture(), [failing, sent, searchTool()], gated);
    const answers = await run.callTools([
      { id: "f", tool: "fail", input: {} },
      { id: "u", tool: "unknown", input: {} },
      send("a"),
      send("b"),
      search("s"),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(["failed", "refused", "held", "held", "succeeded"]);
    await engine.reject(gateOf(answers[2]), { principal: anaPerson });
    expect(await run.findCall("b")).toMatchObject({ status: "held" });
    await engine.approve(gateOf(answers[3]), { principal: anaPerson });
    expect(await run.findCall("b")).toMatchObject({ status: "succeeded" });
    expect(sent.calls.length).toBe(1);
  });

  it("rule 2: an equal proposal under a known id adds no event, and another one is CALL_REUSED and says what differs", async () => {
    const { engine, run } = await openedChat(newFixture(), [searchTool(), mailTool()]);
    await run.callTool(search("1"));
    const handle = await engine.run(run.run_id, { principal: botAgent });
    const before = (await collectEvents(handle, "step.proposed")).length;
    expect(await run.callTool(search("1"))).toMatchObject({ status: "succeeded" });
    expect((await collectEvents(handle, "step.proposed")).length).toBe(before);
    const otherInput = await run.callTool({ ...search("1"), input: { q: "other" } });
    expect(otherInput).toMatchObject({ fault: { code: "CALL_REUSED", message: expect.stringContaining("input") } });
    const otherTool = await run.callTool({ ...send("1") });
    expect(otherTool).toMatchObject({
      fault: { code: "CALL_REUSED", message: expect.stringContaining("the tool search") },
    });
  });

  it("rule 3: a call that cannot be a step is on record as proposed and rejected, with its input", async () => {
    const { engine, run } = await openedChat(newFixture(), [searchTool()]);
    const answer = await run.callTool({ id: "1", tool: "unknown", input: { secret: 1 } });
    expect(answer).toMatchObject({ status: "refused", fault: { message: expect.stringContaining("unknown") } });
    const handle = await engine.run(run.run_id, { principal: botAgent });
    expect(await collectEvents(handle, "step.proposed")).toMatchObject([{ step: { payload: { secret: 1 } } }]);
    expect((await collectEvents(handle, "step.rejected")).length).toBe(1);
  });

  it("rule 4: an open run with nothing to do is open and not final, in its result and in its row", async () => {
    const { engine, run } = await openedChat(newFixture(), [searchTool()]);
    await run.callTool(search("1"));
    const handle = await engine.run(run.run_id, { principal: botAgent });
    expect(await handle.result()).toMatchObject({ status: "open", final: false });
    expect(await engine.runs({ principal: anaPerson })).toMatchObject([{ run_id: run.run_id, status: "open" }]);
  });

  it.each(["completed", "failed", "abandoned"] as const)(
    "rule 5: a run that is closed as %s ends so, whatever became of its calls",
    async (as) => {
      const failing = scriptedTool("fail", throwsFault("TOOL_FAILED"), { effect: "reads" });
      const { run } = await openedChat(newFixture(), [failing]);
      await run.callTool({ id: "1", tool: "fail", input: {} });
      await run.callTool({ id: "2", tool: "unknown", input: {} });
      expect(await run.close({ as, reason: "enough" })).toMatchObject({ status: as, final: true });
    },
  );

  it("rule 6: resume reopens no call of a closed run, and the next opening proposes anew", async () => {
    const sent = mailTool();
    const { engine, run } = await openedChat(newFixture(), [sent], gated);
    await run.callTool(send("1"));
    await run.close();
    const handle = await engine.run(run.run_id, { principal: anaPerson });
    const before = await handle.result();
    await engine.resume(run.run_id, { principal: anaPerson }).catch(() => null);
    expect((await handle.result()).steps).toEqual(before.steps);
    expect((await engine.gates({ principal: anaPerson })).length).toBe(0);
    const next = await openChat(engine);
    expect(next.run_id).not.toBe(run.run_id);
    expect(await next.callTool(send("2"))).toMatchObject({ status: "held" });
    expect(sent.calls.length).toBe(0);
  });

  it("rule 7: the run stays leased between calls, until it is idle or released, and is taken over if its process dies", async () => {
    const stage = newFixture();
    const engine = await stage.open({ tools: [searchTool().tool] });
    const leased = async () =>
      (await engine.workers({ principal: anaPerson })).workers.flatMap(({ runs }) => runs.length);
    const run = await openChat(engine, { releaseMs: 60_000 });
    await run.callTool(search("1"));
    await stage.advance(30_000);
    expect(await leased()).toEqual([1]);
    await run.release();
    expect(await leased()).toEqual([0]);
    await run.callTool(search("2"));
    await stage.crash();
    const other = await stage.open({ tools: [searchTool().tool] });
    await stage.advance(120_000);
    const again = await openChat(other, { waitMs: 60_000 });
    expect(again.run_id).toBe(run.run_id);
    expect(await again.callTool(search("3"))).toMatchObject({ status: "succeeded" });
  });

  it("rule 8: a handler runs in the context of its proposal, and after a restart in none, never in the approver's", async () => {
    const local = new AsyncLocalStorage<string>();
    const stage = newFixture();
    const tool = () => scriptedTool("mail", () => ({ in: local.getStore() ?? null }));
    const { engine, run } = await openedChat(stage, [tool()], gated);
    const [one, two] = await local.run("agent", () => run.callTools([send("1"), send("2")]));
    await local.run("approver", () => engine.approve(gateOf(one), { principal: anaPerson }));
    expect(await run.findCall("1")).toMatchObject({ output: { in: "agent" } });
    await stage.crash();
    const other = await stage.open({ tools: [tool().tool], ...gated });
    await stage.advance(120_000);
    await local.run("approver", () => other.approve(gateOf(two), { principal: anaPerson }));
    await stage.advance(1000);
    const again = await openChat(other, { waitMs: 60_000 });
    expect(await again.findCall("2")).toMatchObject({ output: { in: null } });
  });

  it("rule 9: calls at once, calls in a minute and the size of a run have named limits", async () => {
    const limits = { callsPerTurn: 2, proposalsPerMinute: 5, segmentSteps: 3 };
    const { run } = await openedChat(newFixture(), [searchTool()], { limits });
    const first = run.run_id;
    const many = await rejectedFault(run.callTools([search("a"), search("b"), search("c")]));
    expect(many).toMatchObject({ code: "LIMIT_EXCEEDED", message: expect.stringContaining("at most 2 calls") });
    for (const id of ["d", "e"]) await run.callTool(search(id));
    const often = await rejectedFault(run.callTool(search("f")));
    expect(often).toMatchObject({ code: "LIMIT_EXCEEDED", message: expect.stringContaining("in a minute") });
    expect(run.run_id).toBe(first);
  });
});
