import { describe, expect, it } from "vitest";
import type { PrincipalInput } from "../../src/engine/api/engine-api.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { gated, gateOf, mailTool, openChat, openedChat, reads, searchTool } from "./open-run-fixture.ts";
import { pausableStore } from "./pausable-store.ts";
import { collectJournal, deferred, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const search = { tool: "search", input: {} };

describe.each(storeKinds)("R1, R7: a session on $name", ({ newFixture }) => {
  it("is named by tenant, principal, project, session and subject", async () => {
    const { engine, run } = await openedChat(newFixture(), [searchTool()]);
    const others = [
      { principal: { ...botAgent, id: "rob" } },
      { principal: { ...botAgent, tenant: "globex" } },
      { project: "p" },
      { session: "another" },
      { subject: "user-1" },
    ];
    const ids = await Promise.all(others.map(async (other) => (await openChat(engine, other)).run_id));
    expect(new Set([run.run_id, ...ids]).size).toBe(others.length + 1);
    expect((await openChat(engine, { subject: "user-1" })).run_id).toBe(ids.at(-1));
    expect((await engine.audit({ principal: anaPerson })).rows).toEqual([]);
  });

  it("cannot be named by the request key of a plan", async () => {
    const { engine, run } = await openedChat(newFixture(), [searchTool()]);
    const plan = { steps: [{ step_id: "a", name: "search" }] };
    const key = 'session:["bot",null,"chat",null]';
    const other = await engine.submit(plan, { principal: botAgent, requestKey: key, session: "chat" });
    expect(other).toMatchObject({ attached: false });
    expect(other.run_id).not.toBe(run.run_id);
  });

  it("is opened once by two callers at once", async () => {
    const stage = newFixture();
    const engine = await stage.open({ tools: [searchTool().tool] });
    const [one, two] = await Promise.all([openChat(engine), openChat(engine)]);
    expect(one?.run_id).toBe(two?.run_id);
    const found = await Promise.all([one, two].map((run) => run?.callTool({ id: "a", ...search })));
    expect(found[0]).toEqual(found[1]);
  });

  it("refuses another agent, mode or deadline than it was opened with, and says which", async () => {
    const stage = newFixture();
    const engine = await stage.open({ tools: [searchTool().tool] });
    const agent = { name: "support", version: "1" };
    await openChat(engine, { agent, mode: "human_gated" });
    expect(await openChat(engine, { agent, mode: "human_gated" })).toMatchObject({ attached: true });
    const others = [
      { agent: { name: "sales" }, mode: "human_gated" },
      { agent },
      { agent, mode: "human_gated", deadlineMs: 5 },
    ];
    const faults = await Promise.all(others.map((other) => rejectedFault(openChat(engine, other as never))));
    expect(faults.map(({ code }) => code)).toEqual(["SESSION_DIFFERS", "SESSION_DIFFERS", "SESSION_DIFFERS"]);
    expect(faults.map(({ detail }) => (detail as { differs: string }).differs)).toEqual(["agent", "terms", "terms"]);
  });

  it("begins a new run of the same origin after it was closed, which names the run before", async () => {
    const sent = mailTool();
    const { engine, run } = await openedChat(newFixture(), [sent]);
    const call = { id: "1", tool: "mail", input: { to: "ana" } };
    await run.callTool(call);
    expect(await run.close()).toMatchObject({ status: "completed", final: true });
    expect((await rejectedFault(run.callTool({ ...call, id: "2" }))).code).toBe("RUN_CLOSED");
    const next = await openChat(engine);
    expect(next).toMatchObject({ attached: false });
    // Its steps have other ids, so the same input is another act.
    expect(await next.callTool({ ...call, id: "2" })).toMatchObject({ output: { id: "s2c1" } });
    expect(sent.calls.length).toBe(2);
    const [first] = await collectJournal(await engine.run(next.run_id, { principal: botAgent }));
    expect(first).toMatchObject({ origin: run.run_id, opened: { segment: 2, previous: run.run_id } });
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], rows: [], tallies: [] });
  });

  it("cannot be driven by two processes: an idle one gives it to the other, a busy one keeps it", async () => {
    const stage = newFixture();
    const slow = deferred<number>();
    const tools = [searchTool(), scriptedTool("slow", () => slow.promise, reads)];
    const { run } = await openedChat(stage, tools);
    const two = await stage.open({ tools: tools.map(({ tool }) => tool) });
    const running = run.callTool({ id: "a", tool: "slow", input: {} });
    await stage.advance(10);
    expect((await rejectedFault(openChat(two, { waitMs: 0 }))).code).toBe("SESSION_BUSY");
    const busy = rejectedFault(openChat(two));
    for (let passed = 0; passed < 5000; passed += 50) await stage.advance(50);
    expect((await busy).code).toBe("SESSION_BUSY");
    slow.keep(1);
    await running;
    const asking = openChat(two, { waitMs: 5000 });
    for (let passed = 0; passed < 5000; passed += 50) await stage.advance(50);
    const taken = await asking;
    expect(taken.run_id).toBe(run.run_id);
    expect(await taken.callTool({ id: "a", tool: "slow", input: {} })).toEqual({ status: "succeeded", output: 1 });
    expect(await taken.callTool({ id: "b", ...search })).toMatchObject({ status: "succeeded" });
    expect((await rejectedFault(run.callTool({ id: "c", ...search }))).code).toBe("SESSION_BUSY");
  });

  it("is released when it is idle, and taken again by the next call", async () => {
    const stage = newFixture();
    const engine = await stage.open({ tools: [searchTool().tool] });
    const run = await openChat(engine, { releaseMs: 1000 });
    await run.callTool({ id: "a", ...search });
    const leased = async () =>
      (await engine.workers({ principal: anaPerson })).workers.flatMap(({ runs }) => runs.length);
    expect(await leased()).toEqual([1]);
    await stage.advance(999);
    expect(await leased()).toEqual([1]);
    await stage.advance(10);
    expect(await leased()).toEqual([0]);
    expect(await run.callTool({ id: "b", ...search })).toMatchObject({ status: "succeeded" });
    expect(await leased()).toEqual([1]);
  });

  it("is released once if a handle becomes idle while the release is being recorded", async () => {
    const stage = newFixture();
    const { store, pause } = pausableStore(stage.store());
    const engine = await stage.open({ tools: [searchTool().tool], store });
    const run = await openChat(engine, { releaseMs: 1000 });
    await run.callTool({ id: "a", ...search });
    const released = pause("append");
    await stage.advance(1001);
    await released.reached;
    await openChat(engine, { releaseMs: 1 });
    await stage.advance(10);
    released.resume();
    await stage.advance(10);
    const events = await collectJournal(await engine.run(run.run_id, { principal: botAgent }));
    expect(events.filter(({ type }) => type === "run.released").length).toBe(1);
  });

  it("is released when its engine closes, and no worker claims it while nothing happens", async () => {
    const stage = newFixture();
    const { engine, run } = await openedChat(stage, [searchTool()]);
    await run.callTool({ id: "a", ...search });
    await engine.close();
    const other = await stage.open({ tools: [searchTool().tool] });
    await stage.advance(60_000);
    const handle = await other.run(run.run_id, { principal: anaPerson });
    const types = (await collectJournal(handle)).map(({ type }) => type);
    expect(types).toEqual(["run.accepted", "step.proposed", "step.succeeded", "run.released"]);
    expect((await openChat(other)).run_id).toBe(run.run_id);
  });

  it("is recovered by any worker if its process dies, and an act that may have happened is in doubt", async () => {
    const stage = newFixture();
    const never = scriptedTool("mail", () => new Promise(() => {}));
    const { run } = await openedChat(stage, [never]);
    void run.callTool({ id: "1", tool: "mail", input: {} }).catch(() => {});
    await stage.advance(10);
    expect(never.calls.length).toBe(1);
    await stage.crash();
    const sent = mailTool();
    const other = await stage.open({ tools: [sent.tool] });
    await stage.advance(60_000);
    const again = await openChat(other, { waitMs: 1000 });
    expect(await again.callTool({ id: "1", tool: "mail", input: {} })).toMatchObject({
      status: "in_doubt",
      attempt: 1,
    });
    expect(sent.calls.length).toBe(0);
    const types = (await collectJournal(await other.run(run.run_id, { principal: anaPerson }))).map(({ type }) => type);
    expect(types.filter((type) => type === "run.released").length).toBe(1);
  });

  it("does not resume past turns: a closed run stays closed", async () => {
    const { engine, run } = await openedChat(newFixture(), [mailTool()], gated);
    const held = await run.callTool({ id: "1", tool: "mail", input: {} });
    await engine.reject(gateOf(held), { principal: anaPerson });
    expect(await run.close({ as: "failed", reason: "no mail" })).toMatchObject({
      status: "failed",
      final: true,
      next: null,
    });
    expect((await rejectedFault(engine.resume(run.run_id, { principal: anaPerson }))).code).toBe("NOT_POSSIBLE");
    expect((await engine.gates({ principal: anaPerson })).length).toBe(0);
  });
});

describe.each(storeKinds)("R12: closing an open run on $name", ({ newFixture }) => {
  it("cancels held calls, stops reads, lets acts end, and is closing until then", async () => {
    const stage = newFixture();
    const acting = deferred<number>();
    const tools = [
      scriptedTool("act", () => acting.promise),
      scriptedTool("slow", () => new Promise(() => {}), reads),
      scriptedTool("held", () => 1, { risk: "high" }),
    ];
    const { engine, run } = await openedChat(stage, tools);
    const held = await run.callTool({ id: "1", tool: "held", input: {} });
    const pending = [
      run.callTool({ id: "2", tool: "act", input: {} }),
      run.callTool({ id: "3", tool: "slow", input: {} }),
    ];
    await stage.advance(10);
    const closing = run.close({ as: "abandoned", reason: "the user left" });
    await stage.advance(10);
    expect(await pending[1]).toEqual({ status: "cancelled" });
    expect(tools[1]?.calls[0]?.context.signal.aborted).toBe(true);
    const handle = await engine.run(run.run_id, { principal: anaPerson });
    expect(await handle.now()).toMatchObject({ status: "closing", final: false });
    expect((await rejectedFault(engine.approve(gateOf(held), { principal: anaPerson }))).code).toMatch(
      /NOT_POSSIBLE|GATE_DECIDED/,
    );
    acting.keep(7);
    expect(await pending[0]).toEqual({ status: "succeeded", output: 7 });
    expect(await closing).toMatchObject({ status: "abandoned", final: true });
    const { undone } = { undone: await engine.undo(run.run_id, { principal: anaPerson }) };
    expect(undone).toBeDefined();
  });

  it("is closing while an act is in doubt, which a person can still settle", async () => {
    const lost = scriptedTool("mail", () => {
      throw new Error("gone");
    });
    const { engine, run } = await openedChat(newFixture(), [lost]);
    await run.callTool({ id: "1", tool: "mail", input: {} });
    expect(await run.close()).toMatchObject({ status: "closing", final: false });
    await engine.resolve(run.run_id, "c1", { principal: anaPerson, as: "happened", output: 1 });
    const handle = await engine.run(run.run_id, { principal: anaPerson });
    expect(await handle.finished()).toMatchObject({ status: "completed", final: true });
  });
});

describe.each(storeKinds)("R2: the rights in an open run on $name", ({ newFixture }) => {
  const as = (more: Partial<PrincipalInput>): PrincipalInput => ({ ...botAgent, ...more }) as PrincipalInput;
  const reopened = async (stage: EngineFixture, principal: PrincipalInput, tool: ReturnType<typeof mailTool>) => {
    const engine = await stage.open({ tools: [tool.tool] });
    return openChat(engine, { principal });
  };

  it("are those of the principal that opened it now, not those of the first opening", async () => {
    const stage = newFixture();
    const sent = mailTool({ roles: ["mailer"] });
    const first = await reopened(stage, as({ roles: ["mailer"] }), sent);
    expect(await first.callTool({ id: "1", tool: "mail", input: {} })).toMatchObject({ status: "succeeded" });
    await first.release();
    const less = await reopened(stage, as({}), sent);
    const refused = { status: "refused", fault: { code: "AUTH_FORBIDDEN" } };
    expect(await less.callTool({ id: "2", tool: "mail", input: {} })).toMatchObject(refused);
    // It may not make the call, so it does not get the recorded answer either.
    expect(await less.callTool({ id: "1", tool: "mail", input: {} })).toMatchObject(refused);
    expect(await less.findCall("1")).toMatchObject(refused);
    expect(await less.turns()).toMatchObject([
      {
        turn: null,
        calls: [
          { id: "1", answer: refused },
          { id: "2", answer: refused },
        ],
      },
    ]);
    await less.release();
    const more = await reopened(stage, as({ roles: ["mailer", "chief"] }), sent);
    expect(await more.callTool({ id: "3", tool: "mail", input: {} })).toMatchObject({ status: "succeeded" });
    expect(await more.findCall("1")).toMatchObject({ status: "succeeded" });
    expect(sent.calls.length).toBe(2);
  });
});
