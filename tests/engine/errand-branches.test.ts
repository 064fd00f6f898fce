import { describe, expect, it } from "vitest";
import { notDone } from "../../src/core/values/fault.ts";
import type { AgentCall, OpenRun } from "../../src/engine/api/open-run-api.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { gateOf, mailTool, openedChat, reads } from "./open-run-fixture.ts";
import { chat, chatAnswer, user } from "./scripted-model.ts";
import { collectEvents, collectJournal, deferred, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const order = { id: "o1", tool: "order", input: { item: "tea" } };
const mail = { id: "m1", tool: "mail", input: { to: "ana" } };

/** Places an order, and sends a mail about it as an errand. */
const orderTool = (more: Parameters<typeof scriptedTool>[2] = reads) =>
  scriptedTool(
    "order",
    ({ context }) => {
      context.errand("mail", { to: "ana" });
      return null;
    },
    more,
  );

const ask = (run: OpenRun, text: string, ...calls: readonly AgentCall[]) =>
  run.recordModelCall(chat(user(text)), () => chatAnswer(null, ...(calls as never[])));

describe.each(storeKinds)("R5: an errand of a call that a branch leaves on $name", ({ newFixture }) => {
  it("holds the acts of its tool that follow, and its receipt answers one of them", async () => {
    const stage = newFixture();
    const sent = mailTool();
    const { engine, run } = await openedChat(stage, [orderTool(), sent]);
    await ask(run, "order tea", order);
    expect(await run.callTool(order)).toMatchObject({ status: "succeeded" });
    await stage.advance(0);
    expect(sent.calls.length).toBe(1);
    const errand = sent.calls[0]?.context.step_id as string;
    await ask(run, "please order tea", mail);
    const held = await run.callTool(mail);
    expect(held).toMatchObject({ status: "held", gate: { earlier: [{ step_id: errand, state: "committed" }] } });
    await engine.approve(gateOf(held), { principal: anaPerson, sameAs: errand });
    expect(await run.findCall("m1")).toMatchObject({ status: "succeeded", reused: { step: errand } });
    expect(sent.calls.length).toBe(1);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], rows: [] });
  });

  it("holds the errand of the next call, too", async () => {
    const stage = newFixture();
    const sent = mailTool();
    const { engine, run } = await openedChat(stage, [orderTool(), sent]);
    await ask(run, "order tea", order);
    await run.callTool(order);
    await stage.advance(0);
    const again = { ...order, id: "o2" };
    await ask(run, "please order tea", again);
    await run.callTool(again);
    await stage.advance(0);
    expect(sent.calls.length).toBe(1);
    expect(await engine.gates({ principal: anaPerson })).toMatchObject([
      { tool: "mail", earlier: [{ state: "committed" }] },
    ]);
  });

  it("is cancelled if it has not started", async () => {
    const stage = newFixture();
    const sent = mailTool();
    const options = { tenants: { acme: { mode: "human_gated" } } } as const;
    const { engine, run } = await openedChat(stage, [orderTool(), sent], options);
    await ask(run, "order tea", order);
    await run.callTool(order);
    await stage.advance(0);
    const [gate] = await engine.gates({ principal: anaPerson });
    await ask(run, "please order tea", mail);
    const refused = await rejectedFault(engine.approve(gate?.gate_id as string, { principal: anaPerson }));
    expect(refused.code).toBe("GATE_DECIDED");
    expect(sent.calls.length).toBe(0);
  });

  it("is cancelled if the call proposes it after the branch", async () => {
    const stage = newFixture();
    const sent = mailTool();
    const [begun, under] = [deferred<null>(), deferred<null>()];
    const slow = scriptedTool("order", async ({ context }) => {
      context.errand("mail", { to: "ana" });
      begun.keep(null);
      return under.promise;
    });
    const { engine, run } = await openedChat(stage, [slow, sent]);
    await ask(run, "order tea", order);
    const calling = run.callTool(order);
    await begun.promise;
    await ask(run, "please order tea", mail);
    expect(await run.callTool(mail)).toMatchObject({ status: "succeeded" });
    under.keep(null);
    expect(await calling).toMatchObject({ status: "succeeded" });
    await stage.advance(0);
    expect(sent.calls.length).toBe(1);
    const journal = await collectJournal(await engine.run(run.run_id, { principal: botAgent }));
    expect(journal.filter(({ type }) => type === "step.proposed").length).toBe(5);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], rows: [] });
  });
});

describe.each(storeKinds)("R5: a call that runs when a branch leaves it on $name", ({ newFixture }) => {
  const running = async (effect: "reads" | "acts") => {
    const stage = newFixture();
    const [begun, under] = [deferred<null>(), deferred<null>()];
    const slow = scriptedTool(
      "order",
      async () => {
        begun.keep(null);
        await under.promise;
        throw notDone("DEPENDENCY_UNAVAILABLE", "not now");
      },
      { effect, retry: "any", tries: 3, ...(effect === "acts" && { errorsMean: "not_done" }) },
    );
    const { engine, run } = await openedChat(stage, [slow, mailTool()]);
    await ask(run, "order tea", order);
    const calling = run.callTool(order);
    await begun.promise;
    await ask(run, "please order tea", mail);
    return { stage, engine, run, slow, under, calling };
  };

  it.each(["reads", "acts"] as const)("is not tried again (%s)", async (effect) => {
    const { stage, slow, under, calling } = await running(effect);
    under.keep(null);
    expect(["cancelled", "failed"]).toContain((await calling).status);
    await stage.advance(600_000);
    expect(slow.calls.length).toBe(1);
  });

  it("opens no sub-agent", async () => {
    const { engine, run, slow, under, calling } = await running("reads");
    const parent = { runId: run.run_id, stepId: slow.calls[0]?.context.step_id as string };
    const refused = await rejectedFault(engine.openRun({ session: "helper", principal: botAgent, parent }));
    expect(refused.code).toBe("NOT_POSSIBLE");
    under.keep(null);
    await calling;
    const delegated = await collectEvents(await engine.run(run.run_id, { principal: botAgent }), "step.delegated");
    expect(delegated).toEqual([]);
  });
});
