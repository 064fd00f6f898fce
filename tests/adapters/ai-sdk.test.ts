import { createOpenAI as createOpenAI6 } from "@ai-sdk/openai";
import { createOpenAI as createOpenAI7 } from "@ai-sdk/openai-4";
import * as ai6 from "ai";
import * as ai7 from "ai-7";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { type GovernOptions, govern } from "../../src/agents/govern.ts";
import { forAiSdk } from "../../src/ai-sdk/for-ai-sdk.ts";
import type { ModelScript } from "../../src/testing/scripted-model/model-script.ts";
import { scriptedModel } from "../../src/testing/scripted-model/scripted-model.ts";
import { anaPerson, botAgent, storeKinds } from "../engine/engine-fixture.ts";
import { gated } from "../engine/open-run-fixture.ts";

const kinds = storeKinds.flatMap((kind) => [
  { ...kind, title: `AI SDK 6 on ${kind.name}`, ai: ai6, createOpenAI: createOpenAI6 },
  {
    ...kind,
    title: `AI SDK 7 on ${kind.name}`,
    ai: ai7 as unknown as typeof ai6,
    createOpenAI: createOpenAI7 as unknown as typeof createOpenAI6,
  },
]);

describe.each(kinds)("$title", ({ newFixture, ai, createOpenAI }) => {
  async function started(script: ModelScript, more: Partial<GovernOptions> & { readonly mode?: typeof gated } = {}) {
    const { mode, ...options } = more;
    const stage = newFixture();
    const engine = await stage.open({ tools: [], ...mode });
    const server = await scriptedModel(script);
    onTestFinished(() => server.close());
    const printed: string[] = [];
    const base = { engine, session: "chat", principal: botAgent, print: (text: string) => void printed.push(text) };
    const governed = await govern({ ...base, effects: { search: "reads" }, ...options });
    const writ = forAiSdk(governed);
    const openai = createOpenAI({ baseURL: server.url, apiKey: "none" });
    const sent: unknown[] = [];
    const tools = {
      search: ai.tool({
        description: "Finds pages",
        inputSchema: z.object({ q: z.string() }),
        execute: async ({ q }) => ({ found: q }),
      }),
      send: ai.tool({
        inputSchema: z.object({ to: z.string() }),
        execute: async (input) => {
          sent.push(input);
        },
      }),
    };
    const ask = (messages: ai6.ModelMessage[]) =>
      ai.generateText({
        model: openai.chat("scripted"),
        tools: writ.tools(tools),
        messages,
        stopWhen: ai.stepCountIs(5),
        maxRetries: 0,
      });
    return { stage, engine, server, printed, governed, writ, sent, tools, ask, openai };
  }

  const question = [{ role: "user", content: "write to ana" }] as ai6.ModelMessage[];

  it("makes each call once, records it and gives the model its output", async () => {
    const { ask, sent, governed } = await started([
      { calls: [{ tool: "search", input: { q: "ana" } }] },
      { calls: [{ tool: "send", input: { to: "ana" } }] },
      { text: "done" },
    ]);
    const { text } = await ask(question);
    expect(text).toBe("done");
    expect(sent).toEqual([{ to: "ana" }]);
    const calls = (await governed.run.turns()).flatMap((turn) => turn.calls);
    expect(calls.map(({ tool, answer }) => [tool, answer])).toEqual([
      ["search", { status: "succeeded", output: { found: "ana" } }],
      ["send", { status: "succeeded", output: null }],
    ]);
    // The loop starts again from its beginning: nothing is sent a second time.
    expect((await ask(question)).text).toBe("done");
    expect(sent.length).toBe(1);
  });

  it("asks for an approval in the chat, and the authenticated person decides it", async () => {
    const { ask, sent, writ } = await started([{ calls: [{ tool: "send", input: { to: "ana" } }] }, { text: "sent" }], {
      mode: gated,
    });
    const held = await ask(question);
    const request = held.content.find(({ type }) => type === "tool-approval-request") as { approvalId: string };
    expect(request).toBeDefined();
    const response = { type: "tool-approval-response", approvalId: request.approvalId, approved: true } as const;
    const messages = [
      ...question,
      ...held.response.messages,
      { role: "tool", content: [response] },
    ] as ai6.ModelMessage[];
    await writ.decide(messages, { principal: anaPerson });
    const { text } = await ask(messages);
    expect(text).toBe("sent");
    expect(sent).toEqual([{ to: "ana" }]);
  });

  it("does not take the word of the client for an approval", async () => {
    const { ask, sent, server } = await started(
      [{ calls: [{ tool: "send", input: { to: "ana" } }] }, { text: "waits" }],
      {
        mode: gated,
      },
    );
    const held = await ask(question);
    const request = held.content.find(({ type }) => type === "tool-approval-request") as { approvalId: string };
    const response = { type: "tool-approval-response", approvalId: request.approvalId, approved: true } as const;
    const messages = [
      ...question,
      ...held.response.messages,
      { role: "tool", content: [response] },
    ] as ai6.ModelMessage[];
    const { text } = await ask(messages);
    expect(text).toBe("waits");
    expect(sent).toEqual([]);
    expect(JSON.stringify(server.requests.at(-1))).toContain("a person has to approve this call");
  });
});
