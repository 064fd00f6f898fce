import { describe, expect, it } from "vitest";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import type { AgentCall, OpenRun } from "../../src/engine/api/open-run-api.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { gateOf, mailTool, openChat, openedChat, reads } from "./open-run-fixture.ts";
import { chat, chatAnswer, user } from "./scripted-model.ts";
import { collectEvents, deferred, neverAnswers, type ScriptedTool, scriptedTool } from "./scripted-tool.ts";

const mail = { id: "m1", tool: "mail", input: { to: "ana" } };
const task = { id: "t1", tool: "task", input: {} };

/** Its work is done by a sub-agent, and takes as long as the test. */
const taskTool = () => scriptedTool("task", neverAnswers, reads);

const ask = (run: OpenRun, lane: string, text: string, ...calls: readonly AgentCall[]) =>
  run.recordModelCall(chat(user(text)), () => chatAnswer(null, ...(calls as never[])), { lane });

/** Delegates a call of a run that stays open, `depth` levels deep. */
async function delegate(engine: Engine, run: OpenRun, depth = 1): Promise<OpenRun> {
  const opened = deferred<OpenRun>();
  const delegated = run.callTool(task, {
    run: async (_, { run_id, step_id }) => {
      const parent = { runId: run_id, stepId: step_id };
      opened.keep(await engine.openRun({ session: `helper ${depth}`, principal: botAgent, parent }));
      return neverAnswers({} as never);
    },
  });
  delegated.catch(() => {}); // The session is closed at the end.
  const helper = await opened.promise;
  return depth === 1 ? helper : delegate(engine, helper, depth - 1);
}

/** A sub-agent works in one lane while the other lane sends a mail and branches. */
async function branchedBeside(stage: EngineFixture, sent: ScriptedTool, depth = 1) {
  const { engine, run } = await openedChat(stage, [taskTool(), sent]);
  await ask(run, "research", "look it up", task);
  const helper = await delegate(engine, run, depth);
  await ask(run, "main", "tell ana", mail);
  expect(await run.callTool(mail)).toMatchObject({ status: "succeeded" });
  await ask(run, "main", "please tell ana", { ...mail, id: "m2" });
  return { engine, run, helper };
}

describe.each(storeKinds)("R5: a branch beside the sub-agent of another lane on $name", ({ newFixture }) => {
  it.each([1, 2])("holds its acts, %i levels below, and the receipt of the old act answers one", async (depth) => {
    const sent = mailTool();
    const { engine, run, helper } = await branchedBeside(newFixture(), sent, depth);
    const held = await helper.callTool(mail);
    expect(held).toMatchObject({ status: "held", gate: { earlier: [{ run_id: run.run_id, state: "committed" }] } });
    const [{ context }] = sent.calls as [ScriptedTool["calls"][number]];
    await engine.approve(gateOf(held), { principal: anaPerson, sameAs: `${run.run_id}/${context.step_id}` });
    expect(await helper.findCall("m1")).toMatchObject({ status: "succeeded", reused: { run: run.run_id } });
    expect(sent.calls.length).toBe(1);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], rows: [] });
  });

  it("tells it once, and again only what a later branch leaves", async () => {
    const sent = mailTool();
    const { engine, run, helper } = await branchedBeside(newFixture(), sent);
    await ask(run, "main", "kindly tell ana", { ...mail, id: "m3" });
    const told = await collectEvents(await engine.run(helper.run_id, { principal: botAgent }), "run.acts_left_above");
    expect(told.length).toBe(1);
    const held = await run.callTool({ ...mail, id: "m3" });
    await engine.approve(gateOf(held), { principal: anaPerson });
    expect(await run.findCall("m3")).toMatchObject({ status: "succeeded" });
    await ask(run, "main", "do tell ana", { ...mail, id: "m4" });
    const again = await collectEvents(await engine.run(helper.run_id, { principal: botAgent }), "run.acts_left_above");
    expect(again.map(({ acts }) => acts.length)).toEqual([1, 1]);
  });

  it("tells it when it is opened again, if the process died before", async () => {
    const stage = newFixture();
    const sent = mailTool();
    const { engine, run } = await openedChat(stage, [taskTool(), sent]);
    await ask(run, "research", "look it up", task);
    const helper = await delegate(engine, run);
    await ask(run, "main", "tell ana", mail);
    await run.callTool(mail);
    const asking = run.recordModelCall(chat(user("please tell ana")), async () => {
      await stage.crash();
      return chatAnswer(null);
    });
    asking.catch(() => {});
    await Promise.race([asking.catch(() => {}), stage.advance(1000)]);
    const restarted = await stage.open({ tools: [taskTool().tool, sent.tool] });
    await openChat(restarted);
    const [delegated] = await collectEvents(await restarted.run(run.run_id, { principal: botAgent }), "step.delegated");
    const parent = { runId: run.run_id, stepId: (delegated as { step_id: string }).step_id };
    const again = await restarted.openRun({ session: "helper 1", principal: botAgent, parent });
    expect(again.run_id).toBe(helper.run_id);
    expect(await again.callTool(mail)).toMatchObject({ status: "held" });
    expect(sent.calls.length).toBe(1);
  });
});
