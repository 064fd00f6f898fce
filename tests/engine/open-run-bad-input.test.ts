import { describe, expect, it } from "vitest";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { mailTool, openChat, openedChat, searchTool } from "./open-run-fixture.ts";
import { neverAnswers, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const mail = { id: "1", tool: "mail", input: { to: "ana" } };

describe.each(storeKinds)("bad input of an open run on $name", ({ newFixture }) => {
  it("R3, R7: the same id from two processes at once is one call, and one act", async () => {
    const stage = newFixture();
    const sent = mailTool();
    const engines = [await stage.open({ tools: [sent.tool] }), await stage.open({ tools: [sent.tool] })];
    const call = async (engine: (typeof engines)[number]) => (await openChat(engine)).callTool(mail);
    const calling = Promise.allSettled(engines.map(call));
    await stage.advance(1000);
    for (const called of await calling)
      if (called.status === "fulfilled") expect(called.value).toMatchObject({ status: "succeeded" });
      else expect(called.reason).toMatchObject({ fault: { code: "SESSION_BUSY" } });
    expect(sent.calls).toHaveLength(1);
    expect(await engines[0]?.runs({ principal: anaPerson })).toHaveLength(1);
  });

  it("R1: a session of another principal or tenant is another session, and shows nothing of this one", async () => {
    const stage = newFixture();
    const { engine, run } = await openedChat(stage, [mailTool()]);
    await run.callTool(mail);
    for (const principal of [
      { ...botAgent, id: "eve" },
      { ...botAgent, tenant: "other" },
    ]) {
      const other = await engine.openRun({ session: "chat", principal });
      expect([other.attached, other.run_id === run.run_id]).toEqual([false, false]);
      expect(await other.findCall("1")).toBeNull();
      expect(await other.turns()).toEqual([]);
    }
    const stranger = { ...botAgent, tenant: "other" };
    expect(await rejectedFault(engine.run(run.run_id, { principal: stranger }))).toMatchObject({
      code: "RUN_NOT_FOUND",
    });
  });

  it("R12: a call after close is refused, and does nothing", async () => {
    const sent = mailTool();
    const { run } = await openedChat(newFixture(), [sent]);
    await run.callTool(mail);
    await run.close();
    expect(await rejectedFault(run.callTool({ ...mail, id: "2" }))).toMatchObject({ code: "RUN_CLOSED" });
    expect(await run.findCall("1")).toMatchObject({ status: "succeeded" });
    expect(sent.calls).toHaveLength(1);
  });

  it("a handler that throws fails a read and leaves an act in doubt; one that never returns is timed out", async () => {
    const stage = newFixture();
    const throws = () => {
      throw new Error("broken");
    };
    const { run } = await openedChat(stage, [
      scriptedTool("look", throws, { effect: "reads" }),
      scriptedTool("act", throws),
      scriptedTool("hang", neverAnswers, { effect: "reads", timeoutMs: 1000, tries: 1 }),
      scriptedTool("stuck", neverAnswers, { timeoutMs: 1000 }),
    ]);
    const call = (tool: string) => run.callTool({ id: tool, tool, input: {} });
    expect(await call("look")).toMatchObject({ status: "failed", fault: { code: "TOOL_FAILED" } });
    expect(await call("act")).toMatchObject({ status: "in_doubt" });
    const hanging = [call("hang"), call("stuck")];
    await stage.advance(2000);
    expect(await Promise.all(hanging)).toMatchObject([
      { status: "failed", fault: { code: "TOOL_TIMEOUT" } },
      { status: "in_doubt", fault: { code: "OUTCOME_UNKNOWN" } },
    ]);
  });

  it("R14: thousands of calls cost the same each: the appends of a call do not grow, and start-up reads one run", async () => {
    const stage = newFixture();
    const limits = { segmentSteps: 100 };
    const { run } = await openedChat(stage, [searchTool()], { limits });
    const call = (n: number) => run.callTool({ id: `c${n}`, tool: "search", input: { q: n } });
    for (let n = 0; n < 1000; n += 1) expect(await call(n)).toMatchObject({ status: "succeeded" });
    await stage.crash();
    const engine = await stage.open({ tools: [searchTool().tool], limits });
    const again = await openChat(engine);
    const { steps } = await (await engine.run(again.run_id, { principal: botAgent })).now();
    expect(Object.keys(steps).length).toBeLessThanOrEqual(100);
    for (const n of [0, 555, 999])
      expect(await again.findCall(`c${n}`)).toMatchObject({ status: "succeeded", output: { found: n } });
  });
});
