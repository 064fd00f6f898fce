import { describe, expect, it } from "vitest";
import type { OpenRun } from "../../src/engine/api/open-run-api.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { gateOf, mailTool, openedChat } from "./open-run-fixture.ts";
import { assistant, chat, chatAnswer, resultForClient, scriptedModel, user } from "./scripted-model.ts";
import { collectJournal, rejectedFault, type ScriptedTool } from "./scripted-tool.ts";

const send = { id: "call_1", tool: "mail", input: { to: "ana", text: "refund" } };
const inOtherWords = { id: "call_9", tool: "mail", input: { to: "ana", text: "your refund" } };
const ask = chat(user("tell ana"));
const edited = chat(user("please tell ana"));
const afterSend = chat(user("tell ana"), assistant(null, send), resultForClient("call_1", { id: "c2" }));

/** A session in which a mail was sent, started again by another process with another request. */
async function branched(stage: EngineFixture, sent: ScriptedTool) {
  const { run } = await openedChat(stage, [sent]);
  await run.recordModelCall(ask, () => chatAnswer(null, send));
  expect(await run.callTool(send)).toMatchObject({ status: "succeeded" });
  await stage.crash();
  const { engine, run: again } = await openedChat(stage, [sent]);
  await again.recordModelCall(edited, () => chatAnswer(null, inOtherWords));
  return { engine, run: again, held: await again.callTool(inOtherWords) };
}

const branchesOf = async (engine: Awaited<ReturnType<typeof branched>>["engine"], run: OpenRun) =>
  (await collectJournal(await engine.run(run.run_id, { principal: botAgent }))).filter(
    ({ type }) => type === "run.branched",
  );

describe.each(storeKinds)("R5: a branch of a conversation on $name", ({ newFixture }) => {
  it("is on record if a request of an unfinished turn matches none, and acts of its tools are held", async () => {
    const sent = mailTool();
    const { engine, run, held } = await branched(newFixture(), sent);
    expect(held).toMatchObject({
      status: "held",
      gate: {
        reason: expect.stringContaining("c2"),
        earlier: [{ step_id: "c2", state: "committed", input: send.input }],
      },
    });
    expect(await branchesOf(engine, run)).toMatchObject([{ lane: "main", keep: 0, dropped: ["c1"], acts: ["c2"] }]);
    expect(sent.calls.length).toBe(1);
  });

  it("is answered by the receipt of the old act if a person says that the call is the same", async () => {
    const sent = mailTool();
    const { engine, run, held } = await branched(newFixture(), sent);
    await engine.approve(gateOf(held), { principal: anaPerson, sameAs: "c2" });
    const answer = await run.findCall("call_9");
    expect(answer).toMatchObject({ status: "succeeded", output: { id: "c2" }, reused: { step: "c2" } });
    expect(sent.calls.length).toBe(1);
    // The old act holds no other call: a person has said once what it is.
    const more = { ...inOtherWords, id: "call_10", input: { to: "bob" } };
    expect(await run.callTool(more)).toMatchObject({ status: "succeeded" });
    expect(sent.calls.length).toBe(2);
  });

  it("holds the call again in the next branch, if a person has said which act it is", async () => {
    const sent = mailTool();
    const { engine, run, held } = await branched(newFixture(), sent);
    await engine.approve(gateOf(held), { principal: anaPerson, sameAs: "c2" });
    expect(await run.findCall("call_9")).toMatchObject({ status: "succeeded" });
    await run.recordModelCall(chat(user("tell ana again")), () => chatAnswer(null, { ...send, id: "call_20" }));
    const again = await run.callTool({ ...send, id: "call_20" });
    expect(again).toMatchObject({ status: "held", gate: { earlier: [{ step_id: "c2", state: "committed" }] } });
    expect((await branchesOf(engine, run)).at(-1)).toMatchObject({ dropped: ["c3"], acts: ["c2"] });
    await engine.approve(gateOf(again), { principal: anaPerson, sameAs: "c2" });
    expect(await run.findCall("call_20")).toMatchObject({ status: "succeeded", reused: { step: "c2" } });
    expect(sent.calls.length).toBe(1);
  });

  it("is on record if a request that failed is made again after another one was answered", async () => {
    const sent = mailTool();
    const { engine, run } = await openedChat(newFixture(), [sent]);
    await expect(run.recordModelCall(ask, () => Promise.reject(new Error("down")))).rejects.toThrow("down");
    await run.recordModelCall(edited, () => chatAnswer(null, send));
    expect(await run.callTool(send)).toMatchObject({ status: "succeeded" });
    await run.recordModelCall(ask, () => chatAnswer(null, inOtherWords));
    expect(await branchesOf(engine, run)).toMatchObject([{ dropped: ["c2"], acts: ["c3"] }]);
    expect(await run.callTool(inOtherWords)).toMatchObject({ status: "held" });
    expect(sent.calls.length).toBe(1);
  });

  it("makes the call if a person says that it is another", async () => {
    const sent = mailTool();
    const { engine, run, held } = await branched(newFixture(), sent);
    await engine.approve(gateOf(held), { principal: anaPerson });
    expect(await run.findCall("call_9")).toMatchObject({ status: "succeeded", output: { id: "c4" } });
    expect(sent.calls.length).toBe(2);
  });

  it("refuses a person who names an act that the gate does not show", async () => {
    const { engine, held } = await branched(newFixture(), mailTool());
    const decision = engine.approve(gateOf(held), { principal: anaPerson, sameAs: "c1" });
    expect(await rejectedFault(decision)).toMatchObject({ code: "NOT_POSSIBLE" });
  });

  it("answers a known key by its receipt", async () => {
    const sent = mailTool({ identity: ["/to"] });
    const { held } = await branched(newFixture(), sent);
    expect(held).toMatchObject({ status: "succeeded", output: { id: "c2" }, reused: { step: "c2" } });
    expect(sent.calls.length).toBe(1);
  });

  it("is on record if a message of a finished turn was edited, and not if the messages go on", async () => {
    const sent = mailTool();
    const { engine, run } = await openedChat(newFixture(), [sent]);
    const model = scriptedModel(chatAnswer(null, send), chatAnswer("sent"), chatAnswer("welcome"), chatAnswer("ok"));
    await run.recordModelCall(ask, model.ask);
    await run.callTool(send);
    await run.recordModelCall(afterSend, model.ask);
    const messages = [...(afterSend.messages as never[]), assistant("sent")];
    await run.recordModelCall(chat(...messages, user("thanks")), model.ask);
    expect(await branchesOf(engine, run)).toEqual([]);
    await run.recordModelCall(edited, model.ask);
    expect(await branchesOf(engine, run)).toMatchObject([{ keep: 0, dropped: ["c1", "c3", "c4"], acts: ["c2"] }]);
  });

  it("is on record if the last answer is asked for again, and holds nothing that was done before it", async () => {
    const sent = mailTool();
    const { engine, run } = await openedChat(newFixture(), [sent]);
    const model = scriptedModel(chatAnswer(null, send), chatAnswer("sent"), chatAnswer("it is sent"));
    await run.recordModelCall(ask, model.ask);
    await run.callTool(send);
    await run.recordModelCall(afterSend, model.ask);
    await run.recordModelCall(afterSend, model.ask);
    expect(await branchesOf(engine, run)).toMatchObject([{ keep: 3, dropped: ["c3"], acts: [] }]);
    expect(await run.callTool({ ...send, id: "other", input: {} })).toMatchObject({ status: "succeeded" });
  });

  it("is not made by a clock that normalize takes out of the prompt", async () => {
    const stage = newFixture();
    const model = scriptedModel(chatAnswer(null, send));
    const at = (time: string) => chat({ role: "system", content: `It is ${time}.` }, user("tell ana"));
    const normalize = (request: { readonly messages?: unknown }) => ({
      ...request,
      messages: (request.messages as { role: string }[]).filter(({ role }) => role !== "system"),
    });
    const { run } = await openedChat(stage, [mailTool()]);
    await run.recordModelCall(at("10:00"), model.ask, { normalize: normalize as never });
    await stage.crash();
    const { run: again } = await openedChat(stage, [mailTool()]);
    const answer = await again.recordModelCall(at("11:00"), model.ask, { normalize: normalize as never });
    expect(answer.replayed).toBe(true);
  });

  it("is not made by compaction, if the caller says so", async () => {
    const sent = mailTool();
    const { engine, run } = await openedChat(newFixture(), [sent]);
    const model = scriptedModel(chatAnswer(null, send), chatAnswer("sent"), chatAnswer("ok"), chatAnswer("yes"));
    await run.recordModelCall(ask, model.ask);
    await run.callTool(send);
    await run.recordModelCall(afterSend, model.ask);
    const summary = [user("summary: ana was told"), user("thanks")];
    await run.recordModelCall(chat(...summary), model.ask, { compacted: true });
    await run.recordModelCall(chat(...summary, assistant("ok"), user("sure?")), model.ask);
    expect(await branchesOf(engine, run)).toEqual([]);
  });

  it("withdraws the held calls of the old branch", async () => {
    const stage = newFixture();
    const sent = mailTool();
    const { engine, run } = await openedChat(stage, [sent], { tenants: { acme: { mode: "human_gated" } } });
    await run.recordModelCall(ask, () => chatAnswer(null, send));
    const held = await run.callTool(send);
    await run.recordModelCall(edited, () => chatAnswer("no"));
    const decision = engine.approve(gateOf(held), { principal: anaPerson });
    expect(await rejectedFault(decision)).toMatchObject({ code: "GATE_DECIDED" });
    expect(sent.calls.length).toBe(0);
  });
});
