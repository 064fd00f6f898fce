import { describe, expect, it } from "vitest";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { gated, gateOf, mailTool, openChat, openedChat, searchTool } from "./open-run-fixture.ts";
import { collectEvents, rejectedFault } from "./scripted-tool.ts";

const search = (n: number) => ({ id: `call.${n}`, tool: "search", input: { q: n } });
const tenSteps = { limits: { segmentSteps: 10 } };

describe.each(storeKinds)("R14: a long session on $name", ({ newFixture }) => {
  it("goes on in the next run when its run is full, and every call keeps its answer", async () => {
    const stage = newFixture();
    const found = searchTool();
    const { engine, run } = await openedChat(stage, [found], tenSteps);
    const first = run.run_id;
    for (let n = 0; n < 200; n += 1) expect(await run.callTool(search(n))).toMatchObject({ output: { found: n } });
    const runs = await engine.runs({ principal: anaPerson, limit: 100 });
    expect(runs.length).toBe(20);
    expect(runs.filter(({ status }) => status === "open").map(({ run_id }) => run_id)).toEqual([run.run_id]);
    const closed = await collectEvents(await engine.run(first, { principal: botAgent }), "run.closed");
    expect(closed).toMatchObject([{ as: "completed", continues: true }]);
    for (const n of [0, 57, 199]) {
      expect(await run.callTool(search(n))).toEqual({ status: "succeeded", output: { found: n } });
      expect(await run.findCall(`call.${n}`)).toEqual({ status: "succeeded", output: { found: n } });
    }
    const reused = await run.callTool({ ...search(3), input: { q: 4 } });
    expect(reused).toMatchObject({ status: "refused", fault: { code: "CALL_REUSED" } });
    expect(await run.findCall("never")).toBeNull();
    expect(found.calls.length).toBe(200);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], rows: [] });
  });

  it("lists the turns of all its runs, and marks the answers of earlier ones as delivered", async () => {
    const { run } = await openedChat(newFixture(), [searchTool()], tenSteps);
    for (let n = 0; n < 25; n += 1) await run.callTool(search(n));
    await run.markDelivered("call.3", { to: "editor" });
    await run.markDelivered("call.24", { to: "editor" });
    const calls = (await run.turns()).flatMap((turn) => turn.calls);
    expect(calls.map(({ id }) => id)).toEqual(Array.from({ length: 25 }, (_, n) => `call.${n}`));
    expect(calls.filter(({ delivered }) => delivered).map(({ id }) => id)).toEqual(["call.3", "call.24"]);
  });

  it("lists the turns to a reader of any of its runs, up to that run", async () => {
    const { engine, run } = await openedChat(newFixture(), [searchTool()], tenSteps);
    const first = run.run_id;
    for (let n = 0; n < 25; n += 1) await run.callTool(search(n));
    const turnsOf = async (id: string) => (await engine.run(id, { principal: anaPerson })).turns();
    expect(await turnsOf(run.run_id)).toEqual(await run.turns());
    expect((await turnsOf(first)).flatMap((turn) => turn.calls)).toHaveLength(10);
  });

  it("is found by another process, which reads the last run only", async () => {
    const stage = newFixture();
    const { run } = await openedChat(stage, [searchTool()], tenSteps);
    for (let n = 0; n < 25; n += 1) await run.callTool(search(n));
    await stage.crash();
    const read: string[] = [];
    const store = stage.store();
    const events: typeof store.events = (tenant, id, ...more) => {
      read.push(id);
      return store.events(tenant, id, ...more);
    };
    const found = searchTool();
    const engine = await stage.open({ tools: [found.tool], ...tenSteps, store: { ...store, events } });
    await stage.advance(120_000);
    const again = await openChat(engine, { waitMs: 60_000 });
    expect(again.run_id).toBe(run.run_id);
    expect(new Set(read)).toEqual(new Set([run.run_id]));
    const answers = await again.callTools([search(2), search(24), search(25)]);
    expect(answers.map((answer) => answer.status === "succeeded" && answer.output)).toEqual([
      { found: 2 },
      { found: 24 },
      { found: 25 },
    ]);
    expect(found.calls.length).toBe(1);
  });

  it("closes no run with an unfinished call: a held call stays held and is decided", async () => {
    const { engine, run } = await openedChat(newFixture(), [searchTool(), mailTool()], { ...tenSteps, ...gated });
    const first = run.run_id;
    const held = await run.callTool({ id: "mail", tool: "mail", input: {} });
    for (let n = 0; n < 15; n += 1) await run.callTool(search(n));
    expect(run.run_id).toBe(first);
    await engine.approve(gateOf(held), { principal: anaPerson });
    expect(await run.findCall("mail")).toMatchObject({ status: "succeeded" });
    await run.callTool(search(15));
    expect(run.run_id).not.toBe(first);
    expect(await run.findCall("mail")).toMatchObject({ status: "succeeded" });
  });

  it("has room for a number of bytes", async () => {
    const { run } = await openedChat(newFixture(), [searchTool()], { limits: { segmentBytes: 10_000 } });
    const first = run.run_id;
    const large = (id: string) => ({ id, tool: "search", input: { q: "x".repeat(6000) } });
    await run.callTool(large("1"));
    await run.callTool(large("2"));
    expect(run.run_id).not.toBe(first);
    expect(await run.callTool(large("1"))).toMatchObject({ status: "succeeded" });
  });

  it("goes on in every handle of the session", async () => {
    const { engine, run } = await openedChat(newFixture(), [searchTool()], tenSteps);
    const other = await openChat(engine);
    for (let n = 0; n < 12; n += 1) await run.callTool(search(n));
    expect(await other.callTool(search(50))).toMatchObject({ status: "succeeded" });
    expect(other.run_id).toBe(run.run_id);
    await run.close();
    expect((await rejectedFault(other.callTool(search(51)))).code).toBe("RUN_CLOSED");
  });

  it("is closed by a handle whose run another process has continued", async () => {
    const stage = newFixture();
    const { engine, run } = await openedChat(stage, [searchTool()], tenSteps);
    await run.callTool(search(0));
    await run.release();
    const other = await openChat(await stage.open({ tools: [searchTool().tool], ...tenSteps }));
    for (let n = 1; n < 12; n += 1) await other.callTool(search(n));
    await other.release();
    await run.close({ as: "failed", reason: "enough" });
    expect(await engine.runs({ principal: anaPerson, status: "open" })).toEqual([]);
    expect((await rejectedFault(other.callTool(search(50)))).code).toBe("RUN_CLOSED");
    const closed = await collectEvents(await engine.run(other.run_id, { principal: botAgent }), "run.closed");
    expect(closed).toMatchObject([{ as: "failed", reason: "enough" }]);
  });

  it("finds the calls of a run that its agent closed", async () => {
    const found = searchTool();
    const { engine, run } = await openedChat(newFixture(), [found]);
    await run.callTool(search(1));
    await run.close();
    const next = await openChat(engine);
    expect(next.run_id).not.toBe(run.run_id);
    expect(await next.callTool(search(1))).toEqual({ status: "succeeded", output: { found: 1 } });
    expect(found.calls.length).toBe(1);
  });

  it("refuses a call whose id belongs to an erased run", async () => {
    const stage = newFixture();
    const found = searchTool();
    const { engine, run } = await openedChat(stage, [found]);
    await run.callTool(search(1));
    await run.close();
    stage.clock.advance(1000);
    const service = { id: "ops", kind: "service", tenant: "acme" } as const;
    await engine.retain({ principal: service, endedBefore: stage.clock.now() });
    const next = await openChat(engine);
    expect(await next.callTool(search(1))).toMatchObject({ status: "refused", fault: { code: "CALL_REUSED" } });
    expect(found.calls.length).toBe(1);
  });

  it("refuses too many calls at once, and too many in a minute", async () => {
    const stage = newFixture();
    const limits = { callsPerTurn: 3, proposalsPerMinute: 5 };
    const { run } = await openedChat(stage, [searchTool()], { limits });
    expect((await rejectedFault(run.callTools([0, 1, 2, 3].map(search)))).code).toBe("LIMIT_EXCEEDED");
    await stage.advance(60_000);
    await run.callTools([0, 1, 2].map(search));
    await run.callTools([3, 4].map(search));
    expect((await rejectedFault(run.callTool(search(5)))).code).toBe("LIMIT_EXCEEDED");
    await stage.advance(60_000);
    expect(await run.callTool(search(5))).toMatchObject({ status: "succeeded" });
  });
});
