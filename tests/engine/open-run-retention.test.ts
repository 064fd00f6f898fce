import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/store/store.ts";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { gated, gateOf, mailTool, openChat, openedChat, searchTool } from "./open-run-fixture.ts";
import { collectEvents, neverAnswers, rejectedFault, scriptedTool, throwsFault } from "./scripted-tool.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const search = { id: "1", tool: "search", input: { q: "owl" } };
const mail = { id: "2", tool: "mail", input: { to: "ana" } };

/** Lets days pass without a sweep for each second of them. */
async function skip(stage: EngineFixture, ms: number): Promise<void> {
  stage.clock.advance(ms);
  await stage.advance(70_000);
}

/** A worker tries again while the process that died still holds the lock of the file. */
async function untilErased(stage: EngineFixture, engine: Engine): Promise<void> {
  const isErased = async () =>
    (await engine.retentions({ principal: anaPerson })).every(({ erased }) => erased !== null);
  for (let tries = 0; tries < 30 && !(await isErased()); tries += 1) await stage.advance(70_000);
}

/** A store whose erasure does not return, as if the process died in it. */
function stuckErasure(store: Store): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (name === "erase") return () => new Promise(() => {});
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

describe.each(storeKinds)("R15: an idle session on $name", ({ newFixture }) => {
  it("is closed as abandoned by the engine after 30 days, on record, and not before", async () => {
    const stage = newFixture();
    const { engine, run } = await openedChat(stage, [searchTool()]);
    await run.callTool(search);
    await run.release();
    const handle = await engine.run(run.run_id, { principal: botAgent });
    await skip(stage, 30 * DAY_MS - 600_000);
    expect(await handle.now()).toMatchObject({ status: "open" });
    await skip(stage, 600_000);
    expect(await handle.finished()).toMatchObject({ status: "abandoned", final: true });
    expect(await collectEvents(handle, "run.closed")).toMatchObject([{ as: "abandoned", by: "writ" }]);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
    const next = await openChat(engine);
    expect([next.attached, next.run_id === run.run_id]).toEqual([false, false]);
    expect(await next.callTool(search)).toMatchObject({ status: "succeeded" });
  });

  it("is closed after its own idleMs, also if it never had a call, and although its process died", async () => {
    const stage = newFixture();
    await openChat(await stage.open({ tools: [] }), { idleMs: DAY_MS });
    await stage.crash();
    const engine = await stage.open({ tools: [] });
    await skip(stage, DAY_MS);
    expect(await engine.runs({ principal: anaPerson })).toMatchObject([{ status: "abandoned" }]);
  });

  it("goes on if it is opened again in time, and the time counts anew", async () => {
    const stage = newFixture();
    const { engine, run } = await openedChat(stage, [searchTool()]);
    await run.callTool(search);
    await run.release();
    await skip(stage, 29 * DAY_MS);
    const again = await openChat(engine);
    expect(await again.callTool({ ...search, id: "9" })).toMatchObject({ status: "succeeded" });
    await again.release();
    await skip(stage, 29 * DAY_MS);
    expect(await openChat(engine)).toMatchObject({ attached: true, run_id: run.run_id });
  });

  it("keeps an act in doubt: the run ends when a person has settled it", async () => {
    const stage = newFixture();
    const stuck = scriptedTool("mail", throwsFault("TOOL_FAILED"));
    const { engine, run } = await openedChat(stage, [stuck]);
    expect(await run.callTool(mail)).toMatchObject({ status: "in_doubt" });
    await run.release();
    await skip(stage, 31 * DAY_MS);
    const handle = await engine.run(run.run_id, { principal: botAgent });
    expect(await handle.now()).toMatchObject({ status: "closing", final: false });
    const acts = await engine.inDoubt({ principal: anaPerson });
    expect(acts).toMatchObject([{ run_id: run.run_id, tool: "mail" }]);
    await engine.resolve(run.run_id, acts[0]?.step_id as string, { principal: anaPerson, as: "happened", output: {} });
    expect(await handle.finished()).toMatchObject({ status: "abandoned" });
    expect(stuck.calls).toHaveLength(1);
  });
});

describe.each(storeKinds)("R15: forget on $name", ({ newFixture }) => {
  const forget = { principal: anaPerson, session: "chat", owner: "bot", reason: "asked for by the user" };

  it("closes a session and erases the contents of all its runs, and of no other; receipts stay", async () => {
    const stage = newFixture();
    const sent = mailTool({ identity: ["to"], onDuplicate: "reuse" });
    const { engine, run } = await openedChat(stage, [searchTool(), sent]);
    await run.callTool(search);
    await run.close();
    const second = await openChat(engine);
    await second.callTool(mail);
    const other = await openChat(engine, { session: "other" });
    await other.callTool(search);
    expect(await engine.forget(forget)).toMatchObject({ runs: 2, waiting: 0 });
    for (const { run_id } of [run, second]) {
      const handle = await engine.run(run_id, { principal: anaPerson }).catch((error) => error);
      const read = "events" in handle ? collectEvents(handle, "step.succeeded") : Promise.reject(handle);
      expect(await rejectedFault(read)).toMatchObject({ code: "RUN_NOT_FOUND" });
    }
    expect(await other.findCall("1")).toMatchObject({ status: "succeeded" });
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
    expect(await engine.retentions({ principal: anaPerson })).toMatchObject([
      { by: "ana", reason: forget.reason, session: { session: "chat", owner: "bot" }, erased: { runs: 2 } },
    ]);
    const third = await openChat(engine);
    expect(await third.callTool(mail)).toMatchObject({ status: "refused", fault: { code: "CALL_REUSED" } });
    expect(await third.callTool({ ...mail, id: "3" })).toMatchObject({ status: "succeeded", reused: {} });
    expect(sent.calls).toHaveLength(1);
  });

  it("waits for an act in doubt, and a worker erases the run when the act is settled, also after a crash", async () => {
    const stage = newFixture();
    const tools = () => [scriptedTool("mail", neverAnswers, { timeoutMs: 1000 })];
    const { engine, run } = await openedChat(stage, tools());
    const called = run.callTool(mail);
    await stage.advance(2000);
    await called;
    expect(await engine.forget(forget)).toMatchObject({ runs: 0, waiting: 1, log: "pending" });
    await stage.crash();
    const later = await stage.open({ tools: tools().map(({ tool }) => tool) });
    const acts = await later.inDoubt({ principal: anaPerson });
    await later.resolve(run.run_id, acts[0]?.step_id as string, { principal: anaPerson, as: "happened", output: {} });
    stage.clock.advance(DAY_MS);
    await untilErased(stage, later);
    expect(await later.retentions({ principal: anaPerson })).toMatchObject([{ erased: { runs: 1, waiting: 0 } }]);
  });

  it("is continued by a worker if its process dies after it is on record", async () => {
    const stage = newFixture();
    const tools = [searchTool().tool];
    const engine = await stage.open({ tools, store: stuckErasure(stage.store()) });
    const run = await openChat(engine);
    await run.callTool(search);
    void engine.forget(forget);
    await stage.advance(1000);
    expect(await engine.retentions({ principal: anaPerson })).toMatchObject([{ erased: null }]);
    await stage.crash();
    const later = await stage.open({ tools });
    stage.clock.advance(DAY_MS);
    await untilErased(stage, later);
    expect(await later.retentions({ principal: anaPerson })).toMatchObject([{ erased: { runs: 1, waiting: 0 } }]);
    expect(await later.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("closes the gates of held calls", async () => {
    const { engine, run } = await openedChat(newFixture(), [mailTool()], gated);
    const gate = gateOf(await run.callTool(mail));
    await engine.forget(forget);
    expect(await rejectedFault(engine.approve(gate, { principal: anaPerson }))).toMatchObject({
      code: expect.stringMatching(/NOT_POSSIBLE|GATE_|RUN_/),
    });
  });

  it("is refused to an agent, to another tenant, and without the name of a session", async () => {
    const { engine, run } = await openedChat(newFixture(), [searchTool()]);
    await run.callTool(search);
    expect(await rejectedFault(engine.forget({ ...forget, principal: botAgent }))).toMatchObject({
      code: "AUTH_FORBIDDEN",
    });
    const stranger = { ...anaPerson, tenant: "other" };
    expect(await engine.forget({ ...forget, principal: stranger })).toMatchObject({ runs: 0, events: 0 });
    expect(await rejectedFault(engine.forget({ ...forget, session: "" }))).toMatchObject({ code: "INVALID_INPUT" });
    expect(await run.findCall("1")).toMatchObject({ status: "succeeded" });
  });
});
