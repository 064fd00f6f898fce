import OpenAI from "openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { govern } from "../../src/agents/govern.ts";
import { forOpenAI } from "../../src/openai/for-openai.ts";
import type { ModelScript } from "../../src/testing/scripted-model/model-script.ts";
import { scriptedModel } from "../../src/testing/scripted-model/scripted-model.ts";
import { anaPerson, botAgent, storeKinds } from "../engine/engine-fixture.ts";
import { gated } from "../engine/open-run-fixture.ts";

const script: ModelScript = [
  { calls: [{ tool: "search", input: { q: "ana" } }] },
  {
    calls: [
      { tool: "send", input: { to: "ana" } },
      { tool: "send", input: { to: "bo" } },
    ],
  },
  { text: "done" },
];

describe.each(storeKinds)("the SDK of OpenAI on $name", ({ newFixture }) => {
  async function started(given: ModelScript = script, mode: object = {}) {
    const stage = newFixture();
    const server = await scriptedModel(given);
    onTestFinished(() => server.close());
    const sent: unknown[] = [];
    const functions = {
      search: async ({ q }: { q: string }) => ({ found: q }),
      send: async (input: { to: string }) => {
        sent.push(input);
      },
    };
    const open = async () => {
      const engine = await stage.open({ tools: [], ...mode });
      const terms = {
        engine,
        session: "chat",
        principal: botAgent,
        effects: { search: "reads", send: "acts" },
      } as const;
      const writ = forOpenAI(await govern({ ...terms, print: () => {} }), functions);
      const client = new OpenAI({ baseURL: server.url, apiKey: "none", maxRetries: 0, fetch: writ.fetch() });
      return { engine, writ, client };
    };
    return { stage, server, sent, functions, open };
  }

  type Started = Awaited<ReturnType<Awaited<ReturnType<typeof started>>["open"]>>;

  async function chat({ client, writ }: Started, stream = false): Promise<string | null> {
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "write to ana" }];
    for (;;) {
      const asked = { model: "gpt", messages };
      const message = stream
        ? (await client.chat.completions.stream(asked).finalChatCompletion()).choices[0]?.message
        : (await client.chat.completions.create(asked)).choices[0]?.message;
      messages.push(message as OpenAI.ChatCompletionMessageParam);
      const results = await writ.results(message);
      if (results.length === 0) return message?.content ?? null;
      messages.push(...(results as OpenAI.ChatCompletionMessageParam[]));
    }
  }

  it.each([false, true])(
    "makes each call of a chat once, also when the loop starts again (stream: %s)",
    async (stream) => {
      const { stage, server, sent, open } = await started();
      expect(await chat(await open(), stream)).toBe("done");
      expect(sent).toEqual([{ to: "ana" }, { to: "bo" }]);
      expect(server.requests.length).toBe(3);
      await stage.crash();
    },
  );

  it("asks the model only for what is missing after a crash in the middle of a turn", async () => {
    const { stage, server, sent, open } = await started();
    const first = await open();
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "write to ana" }];
    const { choices } = await first.client.chat.completions.create({ model: "gpt", messages });
    await first.writ.results(choices[0]?.message);
    await stage.crash();
    expect(await chat(await open())).toBe("done");
    expect(server.requests.length).toBe(3);
    expect(sent.length).toBe(2);
  });

  it("drives the responses", async () => {
    const { sent, open, server } = await started();
    const { client, writ } = await open();
    let input: OpenAI.Responses.ResponseInput = [{ role: "user", content: "write to ana" }];
    for (;;) {
      const response = await client.responses.create({ model: "gpt", input });
      const results = await writ.results(response);
      if (results.length === 0) {
        expect(response.output_text).toBe("done");
        break;
      }
      input = [...input, ...(response.output as OpenAI.Responses.ResponseInput), ...(results as never[])];
    }
    expect(sent).toEqual([{ to: "ana" }, { to: "bo" }]);
    expect(server.requests.length).toBe(3);
  });

  it("governs the tools of runTools, whose calls have no id", async () => {
    const { sent, open, functions } = await started();
    const { client, writ } = await open();
    const tools = writ.tools([
      {
        type: "function" as const,
        function: { function: functions.search, parse: JSON.parse, name: "search", parameters: {} },
      },
      {
        type: "function" as const,
        function: { function: functions.send, parse: JSON.parse, name: "send", parameters: {} },
      },
    ]);
    const messages = [{ role: "user" as const, content: "write to ana" }];
    const runner = client.chat.completions.runTools({ model: "gpt", messages, tools: tools as never });
    expect(await runner.finalContent()).toBe("done");
    expect(sent).toEqual([{ to: "ana" }, { to: "bo" }]);
    const calls = (await writ.run.turns()).flatMap((turn) => turn.calls);
    expect(calls.map(({ id, tool }) => [id, tool])).toEqual([
      ["call_1_1", "search"],
      ["call_2_1", "send"],
      ["call_2_2", "send"],
    ]);
  });

  it("tells the model what is held, and the person decides by the id of the call", async () => {
    const { sent, open, server } = await started(
      [{ calls: [{ tool: "send", input: { to: "ana" } }] }, { text: "waits" }],
      gated,
    );
    const opened = await open();
    expect(await chat(opened)).toBe("waits");
    expect(JSON.stringify(server.requests.at(-1))).toContain("Held: a person has to approve this call");
    expect(sent).toEqual([]);
    await opened.writ.decide({ id: "call_1_1", approved: true }, { principal: anaPerson });
    expect(await opened.writ.run.findCall("call_1_1")).toMatchObject({ status: "succeeded" });
    expect(sent).toEqual([{ to: "ana" }]);
  });

  it.each([
    ["malformed arguments", { tool: "send", input: '{"to": "an' }, "INVALID_INPUT"],
    ["arguments that are no object", { tool: "send", input: "[1]" }, "INVALID_INPUT"],
    ["an unknown tool", { tool: "nosuch", input: {} }, "TOOL_UNKNOWN"],
  ])("refuses %s on record, and the model gets a usable message", async (_, call, code) => {
    const { sent, open, server } = await started([{ calls: [call] }, { text: "sorry" }]);
    const opened = await open();
    expect(await chat(opened)).toBe("sorry");
    expect(JSON.stringify(server.requests.at(-1))).toContain(`(${code}). Nothing was done.`);
    expect(sent).toEqual([]);
    const [answer] = (await opened.writ.run.turns()).flatMap((turn) => turn.calls);
    expect(answer).toMatchObject({ answer: { status: "refused", fault: { code } } });
  });
});
