import { describe, expect, it } from "vitest";
import type { OpenRun } from "../../src/engine/api/open-run-api.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { openChat, openedChat, reads } from "./open-run-fixture.ts";
import { assistant, chat, chatAnswer, resultForClient, scriptedModel, user } from "./scripted-model.ts";
import { collectJournal, rejectedFault, scriptedTool } from "./scripted-tool.ts";

/** Talks for some turns: each request repeats the whole conversation, a system prompt and a list of tools. */
async function talk(run: OpenRun, turns: number): Promise<void> {
  const tools = Array.from({ length: 20 }, (_, index) => ({ name: `tool_${index}`, description: "x".repeat(100) }));
  const messages = [{ role: "system", content: "You help. ".repeat(100) }];
  for (let turn = 1; turn <= turns; turn += 1) {
    messages.push(user(`question ${turn} ${"q".repeat(200)}`) as never);
    const request = { ...chat(...(messages as never[])), tools };
    await run.recordModelCall(request, () => chatAnswer(`answer ${turn} ${"a".repeat(200)}`));
    messages.push(assistant(`answer ${turn} ${"a".repeat(200)}`) as never);
  }
}

const LARGE_OUTPUT = 20_000;

/** Talks for some turns. In each turn a tool answers with 20 KB, which the next requests repeat. */
async function talkWithTool(run: OpenRun, turns: number): Promise<void> {
  const messages = [];
  for (let turn = 1; turn <= turns; turn += 1) {
    const call = { id: `call_${turn}`, tool: "page", input: { turn } };
    messages.push(user(`question ${turn}`));
    await run.recordModelCall(chat(...messages), () => chatAnswer(null, call));
    const answer = await run.callTool(call);
    messages.push(assistant(null, call), resultForClient(call.id, answer));
    await run.recordModelCall(chat(...messages), () => chatAnswer(`answer ${turn}`));
    messages.push(assistant(`answer ${turn}`));
  }
}

/** The bytes of all events of a run, with their blobs. */
async function bytesOf(stage: EngineFixture, run: OpenRun): Promise<number> {
  const engine = await stage.open({ tools: [], work: false });
  const events = await collectJournal(await engine.run(run.run_id, { principal: anaPerson }));
  return JSON.stringify(events).length;
}

describe.each(storeKinds)("the contents of model calls on $name", ({ newFixture }) => {
  it("are stored once: a conversation of twice as many turns has at most 2.1 times the bytes", async () => {
    const sizes: number[] = [];
    for (const turns of [100, 200]) {
      const stage = newFixture();
      const { run } = await openedChat(stage, []);
      await talk(run, turns);
      sizes.push(await bytesOf(stage, run));
    }
    const [first = 0, second = 0] = sizes;
    expect(second / first).toBeLessThan(2.1);
    expect(first).toBeLessThan(100 * 3000); // A question, an answer and the events of one turn.
  });

  it("are stored once: large outputs of tools are in the events of their calls and in one request", async () => {
    const page = scriptedTool("page", ({ input }) => ({ text: `${input.turn}`.padEnd(LARGE_OUTPUT, "p") }), reads);
    const sizes: number[] = [];
    for (const turns of [20, 40]) {
      const stage = newFixture();
      const { run } = await openedChat(stage, [page]);
      await talkWithTool(run, turns);
      sizes.push(await bytesOf(stage, run));
    }
    const [first = 0, second = 0] = sizes;
    expect(second / first).toBeLessThan(2.1);
    expect(first).toBeLessThan(20 * (2 * LARGE_OUTPUT + 5000));
  });

  it("are in the journal and not in the folded run, whatever their size", async () => {
    const stage = newFixture();
    const { engine, run } = await openedChat(stage, []);
    const { step_id } = await run.recordModelCall(chat(user("hello")), () => chatAnswer("hi"));
    const { steps } = await (await engine.run(run.run_id, { principal: botAgent })).result();
    expect(steps[step_id]).toMatchObject({ output: { form: "stored", final: true } });
    expect((await run.turns())[0]?.model?.answer).toMatchObject({ form: "json" });
  });

  it("are recorded with the redacted fields as digests", async () => {
    const stage = newFixture();
    const { engine, run } = await openedChat(stage, []);
    const request = { ...chat(user("hello")), user: "ana@example.org" };
    await run.recordModelCall(request, () => chatAnswer("hi"), { redact: ["/user", "/messages/0/content"] });
    const events = await collectJournal(await engine.run(run.run_id, { principal: botAgent }));
    const text = JSON.stringify(events);
    expect(text).not.toContain("ana@example.org");
    expect(text).not.toContain("hello");
    const [turn] = await run.turns();
    expect(turn?.model?.request.user).toEqual({ redacted: expect.any(String) });
  });

  it("are not recorded if the caller omits them, and the request is asked again after a crash", async () => {
    const stage = newFixture();
    const find = { id: "call_1", tool: "search", input: {} };
    const model = scriptedModel(chatAnswer("secret thoughts", find));
    const { engine, run } = await openedChat(stage, []);
    const answer = await run.recordModelCall(chat(user("a secret")), model.ask, { content: "omit" });
    expect(answer.content).toMatchObject({ form: "json" });
    expect(answer.calls).toEqual([{ id: "call_1", tool: "search" }]);
    const events = await collectJournal(await engine.run(run.run_id, { principal: botAgent }));
    expect(JSON.stringify(events)).not.toContain("secret");
    expect((await run.turns())[0]?.model).toMatchObject({ answer: null, messages: [{ digest: expect.any(String) }] });
    await stage.crash();
    const { run: again } = await openedChat(stage, []);
    expect(await again.recordModelCall(chat(user("a secret")), model.ask, { content: "omit" })).toMatchObject({
      replayed: false,
    });
    expect(model.asked).toBe(2);
  });

  it("are erased with their run, and those of another run stay", async () => {
    const stage = newFixture();
    const engine = await stage.open({ tools: [] });
    const long = "l".repeat(100_000);
    const sessions = await Promise.all(["a", "b"].map((session) => openChat(engine, { session })));
    for (const run of sessions) await run.recordModelCall(chat(user(long)), () => chatAnswer(long));
    await sessions[0]?.close();
    await stage.advance(10_000);
    await engine.retain({ principal: anaPerson, endedBefore: stage.clock.now() as never });
    const gone = engine.run(sessions[0]?.run_id ?? "", { principal: anaPerson }).then((run) => run.result());
    expect(await rejectedFault(gone)).toMatchObject({ code: "RUN_NOT_FOUND" });
    const [turn] = (await sessions[1]?.turns()) ?? [];
    expect(turn?.model?.messages).toEqual([user(long)]);
    expect(turn?.model?.answer).toEqual({ form: "json", json: chatAnswer(long) });
  });

  it("are the messages as they were sent, also where normalize and cache marks change what is compared", async () => {
    const { run } = await openedChat(newFixture(), []);
    const find = { id: "call_1", tool: "search", input: {} };
    const marked = { ...user("hello"), cache_control: { type: "ephemeral" } };
    await run.recordModelCall(chat(marked), () => chatAnswer(null, find));
    const next = chat(user("hello"), assistant(null, find), resultForClient("call_1", 1));
    await run.recordModelCall(next, () => chatAnswer("done"));
    const turns = await run.turns();
    expect(turns.map(({ model }) => model?.messages)).toEqual([
      [marked],
      [assistant(null, find), resultForClient("call_1", 1)],
    ]);
  });

  it.each([
    ["a request that is no object", "text", {}, "INVALID_INPUT"],
    ["a request that is no JSON", { messages: [new Map()] }, {}, "INVALID_INPUT"],
    ["a lane that is no name", chat(user("x")), { lane: "" }, "INVALID_INPUT"],
    ["another content", chat(user("x")), { content: "some" }, "INVALID_INPUT"],
    ["a timeout of no number", chat(user("x")), { timeoutMs: 0 }, "INVALID_INPUT"],
    ["an unknown option", chat(user("x")), { lanes: "a" }, "INVALID_INPUT"],
    ["too many messages", chat(...Array.from({ length: 20_001 }, () => user("x"))), {}, "LIMIT_EXCEEDED"],
  ] as const)("are refused before the model is asked: %s", async (_what, request, options, code) => {
    const { run } = await openedChat(newFixture(), []);
    const model = scriptedModel(chatAnswer("hi"));
    const asking = run.recordModelCall(request as never, model.ask, options as never);
    expect(await rejectedFault(asking)).toMatchObject({ code });
    expect(model.asked).toBe(0);
  });
});
