import { describe, expect, it } from "vitest";
import type { Fault } from "../../src/core/values/fault.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { gated, gateOf, mailTool, openChat, openedChat, reads, searchTool } from "./open-run-fixture.ts";
import { collectEvents, deferred, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const mail = { id: "1", tool: "mail", input: { to: "ana" } };
const search = { id: "2", tool: "search", input: { q: "x" } };
const plan = { steps: [{ step_id: "a", name: "search", payload: { q: "x" } }] };

describe.each(storeKinds)("tools at run time on $name", ({ newFixture }) => {
  it("can be called once they are registered, by plans and by agents, and no more once they are removed", async () => {
    const { engine, run } = await openedChat(newFixture(), []);
    expect(await run.callTool(search)).toMatchObject({ status: "refused", fault: { code: "TOOL_UNKNOWN" } });
    const found = searchTool();
    await engine.tools.put([found.tool]);
    expect(await run.callTool({ ...search, id: "3" })).toMatchObject({ status: "succeeded" });
    expect(await engine.call("search", { q: "y" }, { principal: botAgent })).toMatchObject({
      step: { state: "succeeded" },
    });
    await engine.tools.remove(["search"]);
    expect(await run.callTool({ ...search, id: "4" })).toMatchObject({ fault: { code: "TOOL_UNKNOWN" } });
    expect(engine.check(plan).ok).toBe(false);
    expect(found.calls.length).toBe(2);
  });

  it("are refused if the engine has a tool of their name and the caller says so", async () => {
    const [first, second] = [searchTool(), searchTool()];
    const { engine } = await openedChat(newFixture(), [first]);
    const put = (options: object) => engine.tools.put([mailTool().tool, second.tool], options);
    expect(await rejectedFault(put({ ifKnown: "refuse" }))).toMatchObject({ code: "TOOL_INVALID" });
    expect((await engine.tools.list({ principal: botAgent })).map(({ name }) => name)).toEqual(["search"]);
    expect(await rejectedFault(put({ ifKnown: "other" }))).toMatchObject({ code: "INVALID_INPUT" });
    expect(await rejectedFault(put({ replace: true }))).toMatchObject({ code: "INVALID_INPUT" });
    await put({ ifKnown: "replace" });
    await engine.call("search", { q: "y" }, { principal: botAgent });
    expect([first.calls.length, second.calls.length]).toEqual([0, 1]);
  });

  it("end a running call of a removed tool, and start no other", async () => {
    const answer = deferred<string>();
    const slow = scriptedTool("mail", () => answer.promise);
    const { engine, run } = await openedChat(newFixture(), [slow], { limits: { concurrency: 1 } });
    const running = run.callTool(mail);
    const queued = run.callTool({ ...mail, id: "2" });
    await expect.poll(() => slow.calls.length).toBe(1);
    await engine.tools.remove(["mail"]);
    answer.keep("sent");
    expect(await running).toEqual({ status: "succeeded", output: "sent" });
    expect(await queued).toMatchObject({ status: "waiting", blocked: { reason_code: "TOOL_AWAY" } });
    expect(slow.calls.length).toBe(1);
    await engine.tools.put([slow.tool]);
    expect(await run.findCall("2")).toEqual({ status: "succeeded", output: "sent" });
  });

  it("do not start a call whose tool is removed between its decision and its start", async () => {
    const stage = newFixture();
    const sent = mailTool();
    let removing: Promise<void> | null = null;
    const engine = await stage.open({
      tools: [sent.tool],
      failpoint: (point) => {
        if (point === "start.after" && removing === null) removing = engine.tools.remove(["mail"]);
      },
    });
    const run = await openChat(engine);
    const calling = run.callTool(mail);
    for (let second = 0; second < 5; second += 1) await stage.advance(1000);
    expect(await calling).toMatchObject({ status: "waiting", blocked: { reason_code: "TOOL_AWAY" } });
    expect(sent.calls.length).toBe(0);
    await engine.tools.put([sent.tool]);
    expect(await run.findCall("1")).toMatchObject({ status: "succeeded" });
    expect(sent.calls.length).toBe(1);
  });

  it("keep an approved call of a removed tool until a process has the tool again", async () => {
    const stage = newFixture();
    const { engine, run } = await openedChat(stage, [mailTool()], gated);
    const held = await run.callTool(mail);
    await engine.tools.remove(["mail"]);
    await engine.approve(gateOf(held), { principal: anaPerson });
    expect(await run.findCall("1")).toMatchObject({ status: "waiting", blocked: { reason_code: "TOOL_AWAY" } });
    await run.release();
    const elsewhere = mailTool();
    const other = await stage.open({ tools: [elsewhere.tool], ...gated });
    const handle = await other.run(run.run_id, { principal: botAgent });
    await stage.runUntilIdle(handle);
    expect((await handle.now()).steps).toMatchObject({ c1: { state: "succeeded" } });
    expect(elsewhere.calls.length).toBe(1);
  });

  it.each([
    ["another schema", { input: { type: "object", required: ["to"] } }],
    ["another identity", { identity: ["to"] }],
    ["another version", { version: "2.0" }],
  ])("hold back a step that was proposed before its tool got %s", async (_, more) => {
    const { engine, run } = await openedChat(newFixture(), [mailTool()], gated);
    const held = await run.callTool(mail);
    const changed = mailTool(more);
    await engine.tools.put([changed.tool]);
    await engine.approve(gateOf(held), { principal: anaPerson });
    expect(await run.findCall("1")).toMatchObject({ status: "waiting", blocked: { reason_code: "TOOL_CHANGED" } });
    expect(changed.calls.length).toBe(0);
    const original = mailTool();
    await engine.tools.put([original.tool]);
    expect(await run.findCall("1")).toMatchObject({ status: "succeeded" });
    expect([original.calls.length, changed.calls.length]).toEqual([1, 0]);
  });

  it("are what the worker offers: a plan that waits for a tool continues when it is registered", async () => {
    const stage = newFixture();
    const client = await stage.open({ tools: [searchTool().tool], work: false });
    const worker = await stage.open({ tools: [] });
    const handle = await client.submit(plan, { principal: botAgent });
    await stage.runUntilIdle(handle);
    expect(await handle.now()).toMatchObject({ blocked_on: [{ reason_code: "TOOL_MISSING" }] });
    const offered = async () => (await client.workers({ principal: anaPerson })).workers.map(({ tools }) => tools);
    expect(await offered()).toEqual([[]]);
    await worker.tools.put([searchTool().tool]);
    expect(await offered()).toEqual([["search@1"]]);
    await (await worker.run(handle.run_id, { principal: botAgent })).finished();
    expect(await handle.now()).toMatchObject({ status: "completed" });
    await worker.tools.remove(["search"]);
    expect(await offered()).toEqual([[]]);
  });

  it("let an act in doubt be verified once the tool with the verifier is registered", async () => {
    const stage = newFixture();
    const broken = () => Promise.reject(new Error("gone"));
    const { engine, run } = await openedChat(stage, [scriptedTool("mail", broken)]);
    expect(await run.callTool(mail)).toMatchObject({ status: "in_doubt" });
    const verify = async () => ({ saw: "happened", output: "seen" }) as const;
    await engine.tools.put([scriptedTool("mail", broken, { verify }).tool]);
    const handle = await engine.run(run.run_id, { principal: botAgent });
    await stage.advance(1000);
    expect((await handle.now()).steps).toMatchObject({ c1: { state: "succeeded", output: "seen" } });
  });

  it("are listed with their JSON Schemas to a principal that may call them", async () => {
    const { engine } = await openedChat(newFixture(), [mailTool({ roles: ["clerk"] })]);
    await engine.tools.put([searchTool().tool, scriptedTool("read", () => 1, { ...reads, description: "reads" }).tool]);
    const names = async (more: object) =>
      (await engine.tools.list({ principal: { ...botAgent, ...more } })).map(({ name }) => name);
    expect(await names({})).toEqual(["search", "read"]);
    expect(await names({ roles: ["clerk"] })).toEqual(["mail", "search", "read"]);
    expect(await names({ capabilities: [{ tools: { allow: ["read"] } }] })).toEqual(["read"]);
    const [view] = await engine.tools.list({
      principal: { ...botAgent, capabilities: [{ tools: { allow: ["read"] } }] },
    });
    expect(view).toMatchObject({
      version: "1",
      description: "reads",
      effect: "reads",
      risk: "low",
      input: { type: "object" },
    });
  });

  it("are refused whole if one of them cannot be registered or removed", async () => {
    const { engine } = await openedChat(newFixture(), [mailTool()]);
    const { tool } = searchTool();
    const codeOf = async (work: Promise<unknown>): Promise<Fault["code"]> => (await rejectedFault(work)).code;
    expect(await codeOf(engine.tools.put([tool, tool]))).toBe("TOOL_INVALID");
    expect(await codeOf(engine.tools.put([tool, {} as never]))).toBe("TOOL_INVALID");
    expect(await codeOf(engine.tools.put([tool, scriptedTool("halts.lift", () => 1).tool]))).toBe("TOOL_INVALID");
    const precondition = { id: "p", expression: "no(" };
    expect(await codeOf(engine.tools.put([tool, { ...tool, name: "t", preconditions: [precondition] }]))).toBe(
      "TOOL_INVALID",
    );
    expect(await codeOf(engine.tools.put("search" as never))).toBe("TOOL_INVALID");
    expect(await codeOf(engine.tools.remove(["mail", "serch"]))).toBe("TOOL_UNKNOWN");
    expect(await codeOf(engine.tools.remove("mail" as never))).toBe("INVALID_INPUT");
    expect((await engine.tools.list({ principal: botAgent })).map(({ name }) => name)).toEqual(["mail"]);
    await engine.close();
    expect(await codeOf(engine.tools.put([tool]))).toBe("ENGINE_CLOSED");
  });

  it("are judged by their preconditions of now", async () => {
    const { engine, run } = await openedChat(newFixture(), []);
    const { tool } = scriptedTool("search", () => 1, { ...reads, preconditions: [{ id: "p", expression: "false" }] });
    await engine.tools.put([tool]);
    expect(await run.callTool(search)).toMatchObject({ status: "refused", fault: { code: "PRECONDITION_FAILED" } });
    await engine.tools.put([{ ...tool, preconditions: [] }]);
    expect(await run.callTool({ ...search, id: "3" })).toMatchObject({ status: "succeeded" });
    const parked = await collectEvents(await engine.run(run.run_id, { principal: botAgent }), "step.parked");
    expect(parked).toEqual([]);
  });
});
