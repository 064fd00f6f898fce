import OpenAI from "openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { govern } from "../../src/agents/govern.ts";
import { forOpenAI } from "../../src/openai/for-openai.ts";
import type { ModelScript } from "../../src/testing/scripted-model/model-script.ts";
import { scriptedModel } from "../../src/testing/scripted-model/scripted-model.ts";
import { anaPerson, botAgent, storeKinds } from "../engine/engine-fixture.ts";
import { gated } from "../engine/open-run-fixture.ts";

const MINUTE_MS = 60 * 1000;

// The numbers are those of project/complaints.md.
describe.each(storeKinds)("a complaint of users of agent frameworks, on $name", ({ newFixture }) => {
  async function started(script: ModelScript, mode: object = {}) {
    const stage = newFixture();
    const engine = await stage.open({ tools: [], ...mode });
    const model = await scriptedModel(script);
    onTestFinished(() => model.close());
    const sent: unknown[] = [];
    const effects = { search: "reads", send: "acts" } as const;
    const governed = await govern({ engine, session: "chat", principal: botAgent, effects, print: () => {} });
    const writ = forOpenAI(governed, {
      search: async () => "x".repeat(5_000_000),
      send: async (input: object) => void sent.push(input),
    });
    const client = new OpenAI({ baseURL: model.url, apiKey: "none", maxRetries: 0, fetch: writ.fetch() });
    const messages: OpenAI.ChatCompletionMessageParam[] = [];
    const say = async (content: string): Promise<string | null> => {
      messages.push({ role: "user", content });
      for (;;) {
        const { choices } = await client.chat.completions.create({ model: "gpt", messages });
        const message = choices[0]?.message as OpenAI.ChatCompletionMessage;
        messages.push(message);
        const results = await writ.results(message);
        if (results.length === 0) return message.content;
        messages.push(...(results as OpenAI.ChatCompletionMessageParam[]));
      }
    };
    return { stage, engine, model, sent, writ, say };
  }

  const send = (to: string, id?: string) => ({ tool: "send", input: { to }, ...(id !== undefined && { id }) });

  it("5: a call that was held in an earlier turn is decided after later turns", async () => {
    const { stage, sent, writ, say } = await started(
      [{ calls: [send("ana")] }, { text: "it waits" }, { text: "the weather is fine" }],
      gated,
    );
    expect(await say("write to ana")).toBe("it waits");
    expect(await say("how is the weather?")).toBe("the weather is fine");
    await writ.decide({ id: "call_1_1", approved: true }, { principal: anaPerson });
    await stage.advance(10);
    expect(sent).toEqual([{ to: "ana" }]);
  });

  it("12: an id that a provider gives in every answer names another call in each", async () => {
    const { sent, say } = await started([
      { calls: [send("ana", "call_0")] },
      { calls: [send("bo", "call_0")] },
      { calls: [send("bo", "call_0")] },
      { text: "done" },
    ]);
    expect(await say("write")).toBe("done");
    expect(sent).toEqual([{ to: "ana" }, { to: "bo" }, { to: "bo" }]);
  });

  it("15: the minutes that a person takes are no part of the timeout of the tool", async () => {
    const { stage, sent, writ, say } = await started([{ calls: [send("ana")] }, { text: "it waits" }], gated);
    await say("write to ana");
    await stage.advance(9 * MINUTE_MS);
    await writ.decide({ id: "call_1_1", approved: true }, { principal: anaPerson });
    await stage.advance(10);
    expect(sent).toEqual([{ to: "ana" }]);
  });

  it("19: a session with a result of 5 MB is approved like any other", async () => {
    const { stage, sent, writ, say } = await started(
      [{ calls: [{ tool: "search", input: {} }] }, { calls: [send("ana")] }, { text: "it waits" }],
      gated,
    );
    expect(await say("find and write")).toBe("it waits");
    await writ.decide({ id: "call_2_1", approved: true }, { principal: anaPerson });
    await stage.advance(10);
    expect(sent).toEqual([{ to: "ana" }]);
  });
});
