import Anthropic from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { govern } from "../../src/agents/govern.ts";
import { forAnthropic } from "../../src/anthropic/for-anthropic.ts";
import type { ModelScript } from "../../src/testing/scripted-model/model-script.ts";
import { scriptedModel } from "../../src/testing/scripted-model/scripted-model.ts";
import { botAgent, storeKinds } from "../engine/engine-fixture.ts";
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

describe.each(storeKinds)("the SDK of Anthropic on $name", ({ newFixture }) => {
  async function started(given: ModelScript = script, mode: object = {}) {
    const stage = newFixture();
    const server = await scriptedModel(given);
    onTestFinished(() => server.close());
    const sent: unknown[] = [];
    const functions = {
      search: async ({ q }: { q: string }) => ({ found: q }),
      send: async (input: { to: string }) => {
        sent.push(input);
        return "sent";
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
      const writ = forAnthropic(await govern({ ...terms, print: () => {} }), functions);
      const client = new Anthropic({ baseURL: server.origin, apiKey: "none", maxRetries: 0, fetch: writ.fetch() });
      return { engine, writ, client };
    };
    return { stage, server, sent, functions, open };
  }

  type Started = Awaited<ReturnType<Awaited<ReturnType<typeof started>>["open"]>>;

  async function chat({ client, writ }: Started, stream = false): Promise<unknown> {
    const messages: Anthropic.MessageParam[] = [{ role: "user", content: "write to ana" }];
    for (;;) {
      const asked = { model: "claude", max_tokens: 100, messages };
      const message = stream ? await client.messages.stream(asked).finalMessage() : await client.messages.create(asked);
      messages.push({ role: "assistant", content: message.content });
      const results = await writ.results(message);
      if (results.length === 0) return message.content[0];
      messages.push(...results);
    }
  }

  it.each([false, true])(
    "makes each call once, and asks only for what is missing after a crash (stream: %s)",
    async (stream) => {
      const { stage, server, sent, open } = await started();
      const first = await open();
      const asked = {
        model: "claude",
        max_tokens: 100,
        messages: [{ role: "user" as const, content: "write to ana" }],
      };
      const message = stream
        ? await first.client.messages.stream(asked).finalMessage()
        : await first.client.messages.create(asked);
      await first.writ.results(message);
      await stage.crash();
      expect(await chat(await open(), stream)).toMatchObject({ type: "text", text: "done" });
      expect(sent).toEqual([{ to: "ana" }, { to: "bo" }]);
      expect(server.requests.length).toBe(3);
    },
  );

  it("governs the tools of the tool runner", async () => {
    const { sent, open, functions } = await started();
    const { client, writ } = await open();
    const tools = writ.tools([
      betaZodTool({
        name: "search",
        description: "Finds",
        inputSchema: z.object({ q: z.string() }),
        run: async (input) => JSON.stringify(await functions.search(input)),
      }),
      betaZodTool({
        name: "send",
        description: "Sends",
        inputSchema: z.object({ to: z.string() }),
        run: functions.send,
      }),
    ]);
    const messages = [{ role: "user" as const, content: "write to ana" }];
    const last = await client.beta.messages.toolRunner({ model: "claude", max_tokens: 100, messages, tools });
    expect(last.content).toMatchObject([{ type: "text", text: "done" }]);
    expect(sent).toEqual([{ to: "ana" }, { to: "bo" }]);
    const calls = (await writ.run.turns()).flatMap((turn) => turn.calls);
    expect(calls.map(({ id }) => id)).toEqual(["call_1_1", "call_2_1", "call_2_2"]);
  });

  it("tells the model what is held and what is refused", async () => {
    const { sent, open, server } = await started(
      [
        {
          calls: [
            { tool: "send", input: { to: "ana" } },
            { tool: "nosuch", input: {} },
          ],
        },
        { text: "waits" },
      ],
      gated,
    );
    expect(await chat(await open())).toMatchObject({ text: "waits" });
    expect(sent).toEqual([]);
    const { messages } = server.requests.at(-1) as unknown as { messages: Anthropic.MessageParam[] };
    const content = messages.at(-1)?.content;
    expect(content).toMatchObject([
      { type: "tool_result", tool_use_id: "call_1_1", content: expect.stringContaining("Held:") },
      {
        type: "tool_result",
        tool_use_id: "call_1_2",
        is_error: true,
        content: expect.stringContaining("TOOL_UNKNOWN"),
      },
    ]);
  });
});
