import { describe, expect, it } from "vitest";
import type { CallAnswer } from "../../src/core/run/call-answer.ts";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import type { AgentCall, OpenRun } from "../../src/engine/api/open-run-api.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { gateOf, mailTool, openChat, openedChat, reads } from "./open-run-fixture.ts";
import { chat, chatAnswer, user } from "./scripted-model.ts";
import { collectEvents, deferred, rejectedFault, type ScriptedTool, scriptedTool } from "./scripted-tool.ts";

const task = () => scriptedTool("task", () => null, reads);
const first = { id: "t1", tool: "task", input: { goal: "tell ana" } };
const second = { id: "t2", tool: "task", input: { goal: "tell ana" } };
const mail = { id: "m", tool: "mail", input: { to: "ana" } };

interface Delegated {
  readonly helper: OpenRun;
  readonly inner: CallAnswer;
}

/** Makes a call whose work a sub-agent does: it sends a mail. `depth` sub-agents are below each other. */
async function delegate(engine: Engine, run: OpenRun, call: AgentCall, depth = 1): Promise<Delegated> {
  const done = deferred<Delegated>();
  const answer = await run.callTool(call, {
    run: async (_, { run_id, step_id }) => {
      const parent = { runId: run_id, stepId: step_id };
      const helper = await engine.openRun({ session: `helper ${call.id}`, principal: botAgent, parent });
      if (depth > 1) {
        done.keep(await delegate(engine, helper, { ...call, id: `${call.id}.` }, depth - 1));
        return null;
      }
      done.keep({ helper, inner: await helper.callTool(mail) });
      return null;
    },
  });
  expect(answer).toMatchObject({ status: "succeeded" });
  return done.promise;
}

const ask = (run: OpenRun, text: string, ...calls: readonly AgentCall[]) =>
  run.recordModelCall(chat(user(text)), () => chatAnswer(null, ...(calls as never[])));

/** A session whose sub-agent sent a mail, and which then branched. */
async function branched(stage: EngineFixture, sent: ScriptedTool, depth = 1) {
  const { engine, run } = await openedChat(stage, [task(), sent]);
  await ask(run, "tell ana", first);
  const old = await delegate(engine, run, first, depth);
  expect(old.inner).toMatchObject({ status: "succeeded" });
  await ask(run, "please tell ana", second);
  return { engine, run, old };
}

describe.each(storeKinds)("R5: a branch that leaves a sub-agent on $name", ({ newFixture }) => {
  it.each([1, 2, 3])("holds the act of the next sub-agent, %i levels below", async (depth) => {
    const sent = mailTool();
    const { engine, run, old } = await branched(newFixture(), sent, depth);
    const { helper, inner } = await delegate(engine, run, second, depth);
    expect(inner).toMatchObject({
      status: "held",
      gate: { earlier: [{ run_id: old.helper.run_id, step_id: "c1", state: "committed", input: mail.input }] },
    });
    expect(sent.calls.length).toBe(1);
    const [accepted] = await collectEvents(await engine.run(helper.run_id, { principal: botAgent }), "run.accepted");
    expect(accepted).toMatchObject({ opened: { left: [{ run_id: old.helper.run_id, tool: "mail" }] } });
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], rows: [] });
  });

  it("holds the act of the run itself, and of a sub-agent an act of the run", async () => {
    const sent = mailTool();
    const { engine, run } = await branched(newFixture(), sent);
    const own = { ...mail, id: "own" };
    expect(await run.callTool(own)).toMatchObject({ status: "held", gate: { earlier: [{ step_id: "c1" }] } });
    const { run: other } = { run: await openChat(engine, { session: "other" }) };
    await ask(other, "tell ana", mail);
    expect(await other.callTool(mail)).toMatchObject({ status: "succeeded" });
    await ask(other, "please tell ana", second);
    const { inner } = await delegate(engine, other, second);
    expect(inner).toMatchObject({ status: "held", gate: { earlier: [{ run_id: other.run_id, step_id: "c2" }] } });
    expect(sent.calls.length).toBe(2);
  });

  it("is answered by the receipt of the old act if a person says that the call is the same, once", async () => {
    const sent = mailTool();
    const { engine, run, old } = await branched(newFixture(), sent);
    const { helper, inner } = await delegate(engine, run, second);
    const sameAs = `${old.helper.run_id}/c1`;
    await engine.approve(gateOf(inner), { principal: anaPerson, sameAs });
    const reused = { run: old.helper.run_id, step: "c1" };
    expect(await helper.findCall("m")).toMatchObject({ status: "succeeded", output: { id: "c1" }, reused });
    expect(await helper.callTool({ ...mail, id: "m2" })).toMatchObject({ status: "succeeded" });
    expect(sent.calls.length).toBe(2);
    // The run above does not know which call the act answers: the row does.
    const held = await run.callTool({ ...mail, id: "own" });
    const refused = await rejectedFault(engine.approve(gateOf(held), { principal: anaPerson, sameAs }));
    expect(refused).toMatchObject({ code: "NOT_POSSIBLE", message: expect.stringContaining("answers one call") });
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], rows: [] });
  });

  it("holds the act again after the next branch, and its receipt answers a call of that one", async () => {
    const sent = mailTool();
    const { engine, run, old } = await branched(newFixture(), sent);
    const { inner } = await delegate(engine, run, second);
    const sameAs = `${old.helper.run_id}/c1`;
    await engine.approve(gateOf(inner), { principal: anaPerson, sameAs });
    const third = { ...second, id: "t3" };
    await ask(run, "kindly tell ana", third);
    const { helper, inner: again } = await delegate(engine, run, third);
    expect(again).toMatchObject({ status: "held", gate: { earlier: [{ run_id: old.helper.run_id }] } });
    await engine.approve(gateOf(again), { principal: anaPerson, sameAs });
    expect(await helper.findCall("m")).toMatchObject({ status: "succeeded", reused: { step: "c1" } });
    expect(sent.calls.length).toBe(1);
  });

  it("holds the act of the run itself again after the next branch, if the receipt of a sub-agent answered it", async () => {
    const sent = mailTool();
    const { engine, run, old } = await branched(newFixture(), sent);
    const own = { ...mail, id: "own" };
    const sameAs = `${old.helper.run_id}/c1`;
    await engine.approve(gateOf(await run.callTool(own)), { principal: anaPerson, sameAs });
    expect(await run.findCall("own")).toMatchObject({ status: "succeeded", reused: { run: old.helper.run_id } });
    await ask(run, "kindly tell ana", { ...mail, id: "own2" });
    const again = await run.callTool({ ...mail, id: "own2" });
    expect(again).toMatchObject({ status: "held", gate: { earlier: [{ run_id: old.helper.run_id }] } });
    expect(sent.calls.length).toBe(1);
  });

  it("cancels a sub-agent whose call has ended and which is still open", async () => {
    const stage = newFixture();
    const sent = mailTool();
    const { engine, old } = await branched(stage, sent);
    await stage.advance(1000);
    const left = await (await engine.run(old.helper.run_id, { principal: botAgent })).result();
    expect(left).toMatchObject({ status: "cancelled", final: true });
    expect((await rejectedFault(old.helper.callTool({ ...mail, id: "late" }))).code).toBe("RUN_CLOSED");
  });

  it("holds the act also after a crash, and in another process", async () => {
    const stage = newFixture();
    const sent = mailTool();
    await branched(stage, sent);
    await stage.crash();
    const { engine, run } = await openedChat(stage, [task(), sent]);
    const { inner } = await delegate(engine, run, second);
    expect(inner).toMatchObject({ status: "held" });
    expect(sent.calls.length).toBe(1);
  });

  it("holds the act also in the run that takes the calls of a full one", async () => {
    const stage = newFixture();
    const sent = mailTool();
    const engine = await stage.open({ tools: [task(), sent].map(({ tool }) => tool), limits: { segmentSteps: 3 } });
    const run = await openChat(engine);
    const { run_id } = run;
    await ask(run, "tell ana", first);
    await delegate(engine, run, first);
    await run.recordModelCall(chat(user("please tell ana")), () => chatAnswer("no"));
    await run.release();
    const held = await run.callTool({ ...mail, id: "own" });
    expect(run.run_id).not.toBe(run_id);
    expect(held).toMatchObject({ status: "held", gate: { earlier: [{ state: "committed" }] } });
    expect(sent.calls.length).toBe(1);
  });

  it("keeps the record of a sub-agent until the run above has ended", async () => {
    const stage = newFixture();
    const { engine, run, old } = await branched(stage, mailTool());
    await old.helper.close();
    await stage.advance(1000);
    const endedBefore = stage.clock.now() + 1;
    await stage.advance(1000);
    expect(await engine.retain({ principal: anaPerson, endedBefore })).toMatchObject({ runs: 0 });
    expect(await run.callTool({ ...mail, id: "own" })).toMatchObject({ status: "held" });
  });
});

describe.each(storeKinds)("an act of an old branch on $name", ({ newFixture }) => {
  const twice = async (stage: EngineFixture) => {
    const sent = mailTool();
    const { engine, run } = await openedChat(stage, [sent]);
    await ask(run, "tell ana", mail);
    await run.callTool(mail);
    const calls = [
      { ...mail, id: "a" },
      { ...mail, id: "b" },
    ] as const;
    await ask(run, "please tell ana", ...calls);
    const [one, other] = await run.callTools(calls);
    return { engine, run, sent, gates: [gateOf(one), gateOf(other)] as const };
  };
  const sameAs = "c2";

  it("answers one call: the second gate that names it is refused, on record", async () => {
    const { engine, run, sent, gates } = await twice(newFixture());
    await engine.approve(gates[0], { principal: anaPerson, sameAs });
    const refused = await rejectedFault(engine.approve(gates[1], { principal: anaPerson, sameAs }));
    expect(refused.code).toBe("NOT_POSSIBLE");
    const contested = await collectEvents(await engine.run(run.run_id, { principal: botAgent }), "gate.contested");
    expect(contested).toMatchObject([{ gate_id: gates[1], fault: { code: "NOT_POSSIBLE" } }]);
    expect(await run.findCall("a")).toMatchObject({ status: "succeeded", reused: { step: "c2" } });
    expect(await run.findCall("b")).toMatchObject({ status: "held" });
    expect(sent.calls.length).toBe(1);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], rows: [] });
  });

  it("answers one call if two persons name it at once", async () => {
    const { engine, run, sent, gates } = await twice(newFixture());
    const bob = { ...anaPerson, id: "bob" };
    const decisions = await Promise.allSettled([
      engine.approve(gates[0], { principal: anaPerson, sameAs }),
      engine.approve(gates[1], { principal: bob, sameAs }),
    ]);
    expect(decisions.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const answers = [await run.findCall("a"), await run.findCall("b")].map((answer) => answer?.status);
    expect(answers.sort()).toEqual(["held", "succeeded"]);
    expect(sent.calls.length).toBe(1);
  });
});
