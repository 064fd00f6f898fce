import { describe, expect, it } from "vitest";
import { botAgent, storeKinds } from "./engine-fixture.ts";
import { openChat, openedChat, searchTool } from "./open-run-fixture.ts";
import { assistant, chat, chatAnswer, chatStream, resultForClient, scriptedModel, user } from "./scripted-model.ts";
import { collectJournal, deferred, rejectedFault } from "./scripted-tool.ts";

const find = { id: "call_1", tool: "search", input: { q: 1 } };
const hello = chat(user("hello"));
const afterFind = chat(user("hello"), assistant(null, find), resultForClient("call_1", { found: 1 }));

describe.each(storeKinds)("R4: a model call on $name", ({ newFixture }) => {
  it("records its answer, and a loop that starts again in an unfinished turn gets it without asking", async () => {
    const stage = newFixture();
    const model = scriptedModel(chatAnswer(null, find), chatAnswer("done"));
    const found = searchTool();
    const { run } = await openedChat(stage, [found]);
    const first = await run.recordModelCall(hello, model.ask);
    expect(first).toMatchObject({ calls: [{ id: "call_1", tool: "search" }], final: false, replayed: false });
    await run.callTool(find);
    await stage.crash();
    const { run: again } = await openedChat(stage, [found]);
    expect(await again.recordModelCall(hello, model.ask)).toEqual({ ...first, replayed: true });
    expect(await again.callTool(find)).toEqual({ status: "succeeded", output: { found: 1 } });
    expect(model.asked).toBe(1);
    expect(found.calls.length).toBe(1);
    expect(await again.recordModelCall(afterFind, model.ask)).toMatchObject({ final: true, replayed: false });
    expect(model.asked).toBe(2);
  });

  it("is a new sample after a finished turn", async () => {
    const model = scriptedModel(chatAnswer("one"), chatAnswer("two"));
    const { run } = await openedChat(newFixture(), []);
    const first = await run.recordModelCall(hello, model.ask);
    const second = await run.recordModelCall(hello, model.ask);
    expect([first, second].map(({ content }) => content)).toEqual([
      { form: "json", json: chatAnswer("one") },
      { form: "json", json: chatAnswer("two") },
    ]);
    expect(model.asked).toBe(2);
  });

  it("is handed over again if the process died before its turn was finished on record", async () => {
    const stage = newFixture();
    const model = scriptedModel(chatAnswer("one"), chatAnswer("two"));
    const { run } = await openedChat(stage, []);
    await run.recordModelCall(hello, model.ask);
    await stage.crash();
    const { run: again } = await openedChat(stage, []);
    expect(await again.recordModelCall(hello, model.ask)).toMatchObject({ replayed: true });
    expect(model.asked).toBe(1);
  });

  it("answers the k-th equal request of a start by the k-th recorded answer", async () => {
    const stage = newFixture();
    const other = { ...find, id: "call_2" };
    const model = scriptedModel(chatAnswer(null, find), chatAnswer(null, other));
    const { run } = await openedChat(stage, [searchTool()]);
    const answers = [await run.recordModelCall(hello, model.ask), await run.recordModelCall(hello, model.ask)];
    await stage.crash();
    const { run: again } = await openedChat(stage, [searchTool()]);
    const replayed = [await again.recordModelCall(hello, model.ask), await again.recordModelCall(hello, model.ask)];
    expect(replayed.map(({ step_id }) => step_id)).toEqual(answers.map(({ step_id }) => step_id));
    expect(model.asked).toBe(2);
  });

  it("joins an equal request in flight, and refuses another one in its lane", async () => {
    const { run } = await openedChat(newFixture(), []);
    const reply = deferred<unknown>();
    const model = scriptedModel(() => reply.promise);
    const first = run.recordModelCall(hello, model.ask);
    const second = run.recordModelCall(hello, model.ask);
    const busy = run.recordModelCall(chat(user("other")), model.ask);
    expect(await rejectedFault(busy)).toMatchObject({ code: "SESSION_BUSY" });
    const aside = run.recordModelCall(chat(user("title")), () => chatAnswer("a title"), { lane: "title" });
    expect(await aside).toMatchObject({ final: true });
    reply.keep(chatAnswer("hi"));
    expect((await first).step_id).toBe((await second).step_id);
    expect(model.asked).toBe(1);
  });

  it("hands a stream over while it comes, records it whole, and hands it over again", async () => {
    const stage = newFixture();
    const model = scriptedModel(() => chatStream("let me look", find));
    const { run } = await openedChat(stage, [searchTool()]);
    const live: unknown[] = [];
    const answer = await run.recordModelCall(hello, model.ask, { onChunk: (chunk) => live.push(chunk) });
    expect(live.length).toBeGreaterThan(5);
    expect(answer).toMatchObject({ calls: [{ id: "call_1", tool: "search" }], final: false });
    expect(answer.content).toEqual({ form: "text", text: live.join("") });
    await stage.crash();
    const { run: again } = await openedChat(stage, [searchTool()]);
    const replay: unknown[] = [];
    await again.recordModelCall(hello, model.ask, { onChunk: (chunk) => replay.push(chunk) });
    expect(replay.join("")).toBe(live.join(""));
    expect(model.asked).toBe(1);
  });

  it("fails if its stream is cut or it throws, and the retry of the client is the next attempt of the step", async () => {
    const { engine, run } = await openedChat(newFixture(), []);
    const down = new Error("overloaded");
    async function* cut() {
      for await (const chunk of chatStream("hello", find)) {
        yield chunk;
        if (chunk.includes("tool_calls")) return;
      }
    }
    const model = scriptedModel(() => Promise.reject(down), cut, chatAnswer("hi"));
    await expect(run.recordModelCall(hello, model.ask)).rejects.toBe(down);
    expect(await rejectedFault(run.recordModelCall(hello, model.ask))).toMatchObject({ code: "ANSWER_INCOMPLETE" });
    const { step_id } = await run.recordModelCall(hello, model.ask);
    const events = await collectJournal(await engine.run(run.run_id, { principal: botAgent }));
    const ends = events.flatMap((event) =>
      event.type === "step.failed" || event.type === "step.succeeded" ? [[event.step_id, event.attempt]] : [],
    );
    expect(ends).toEqual([1, 2, 3].map((attempt) => [step_id, attempt]));
  });

  it("names the turn of a tool call by the recorded answer that contains it", async () => {
    const stage = newFixture();
    const found = searchTool();
    const again = { ...find, input: { q: 2 } };
    const model = scriptedModel(chatAnswer(null, find), chatAnswer(null, again), chatAnswer("done"));
    const next = chat(user("hello"), assistant(null, find), resultForClient("call_1", { found: 1 }));
    const loop = async () => {
      const { run } = await openedChat(stage, [found]);
      await run.recordModelCall(hello, model.ask);
      const first = await run.callTool(find);
      await run.recordModelCall(next, model.ask);
      return [first, await run.callTool(again)];
    };
    const answers = [
      { status: "succeeded", output: { found: 1 } },
      { status: "succeeded", output: { found: 2 } },
    ];
    expect(await loop()).toEqual(answers);
    await stage.crash();
    expect(await loop()).toEqual(answers);
    expect(found.calls.length).toBe(2);
    expect(model.asked).toBe(2);
  });

  it("is listed with its messages, its answer and its calls in the order of the proposals", async () => {
    const stage = newFixture();
    const model = scriptedModel(chatAnswer(null, find), chatAnswer("done"));
    const { run } = await openedChat(stage, [searchTool()]);
    await run.recordModelCall(hello, model.ask);
    await run.callTool(find);
    await run.recordModelCall(afterFind, model.ask);
    await stage.crash();
    const engine = await stage.open({ tools: [searchTool().tool] });
    const turns = await (await openChat(engine)).turns();
    expect(turns).toMatchObject([
      {
        model: { lane: "main", request: { model: "m-1" }, messages: [user("hello")], answer: { form: "json" } },
        calls: [{ id: "call_1", tool: "search", answer: { status: "succeeded" } }],
      },
      {
        model: {
          messages: [assistant(null, find), resultForClient("call_1", { found: 1 })],
          answer: { json: chatAnswer("done") },
        },
        calls: [],
      },
    ]);
  });

  it("takes an answer of 5 MB", async () => {
    const stage = newFixture();
    const text = "x".repeat(5 * 1024 * 1024);
    const model = scriptedModel(chatAnswer(text, find));
    const { run } = await openedChat(stage, []);
    await run.recordModelCall(hello, model.ask);
    await stage.crash();
    const { run: again } = await openedChat(stage, []);
    const replayed = await again.recordModelCall(hello, model.ask);
    expect(replayed.content).toEqual({ form: "json", json: chatAnswer(text, find) });
    expect(model.asked).toBe(1);
  });
});
