import OpenAI from "openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { govern } from "../../src/agents/govern.ts";
import type { Observer } from "../../src/engine/api/observer.ts";
import { forOpenAI } from "../../src/openai/for-openai.ts";
import { scriptedModel } from "../../src/testing/scripted-model/scripted-model.ts";
import { botAgent, storeKinds } from "../engine/engine-fixture.ts";

const script = [
  { calls: [{ tool: "search", input: { q: "ana" } }] },
  {
    calls: [
      { tool: "send", input: { to: "ana" } },
      { tool: "send", input: { to: "bo" } },
    ],
  },
  { text: "done" },
];

/** More events than the loop records. */
const EVENTS = 24;

describe.each(storeKinds)("a loop that is killed after each recorded fact, on $name", ({ newFixture }) => {
  it.each(Array.from({ length: EVENTS }, (_, at) => at + 1))(
    "after event %i: nothing is asked or done twice",
    async (nth) => {
      const stage = newFixture();
      const server = await scriptedModel(script);
      onTestFinished(() => server.close());
      const sent: string[] = [];
      const functions = {
        search: async () => "found",
        send: async ({ to }: { to: string }) => void sent.push(to),
      };
      let killed: () => void = () => {};
      const death = new Promise<string>((resolve) => {
        killed = () => resolve("killed");
      });
      const chat = async (observers: readonly Observer[]) => {
        const engine = await stage.open({ tools: [], observers });
        const effects = { search: "reads", send: "acts" } as const;
        const governed = await govern({ engine, session: "chat", principal: botAgent, effects, print: () => {} });
        const writ = forOpenAI(governed, functions);
        const client = new OpenAI({ baseURL: server.url, apiKey: "none", maxRetries: 0, fetch: writ.fetch() });
        const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "write" }];
        for (;;) {
          const { choices } = await client.chat.completions.create({ model: "gpt", messages });
          const message = choices[0]?.message as OpenAI.ChatCompletionMessage;
          messages.push(message);
          const results = await writ.results(message);
          if (results.length === 0) return message.content;
          messages.push(...(results as OpenAI.ChatCompletionMessageParam[]));
        }
      };
      let events = 0;
      const dies: Observer = {
        name: "killer",
        onEvent: () => {
          events += 1;
          if (events === nth) void stage.crash().then(killed);
        },
      };
      const first = chat([dies]);
      first.catch(() => {}); // A killed process answers nothing.
      if ((await Promise.race([first, death])) === "killed") expect(await chat([])).toBe("done");
      expect(new Set(sent).size).toBe(sent.length);
      // The request whose answer was not on record yet is asked again, and no other.
      expect(server.requests.length).toBeLessThanOrEqual(script.length + 1);
    },
  );
});
