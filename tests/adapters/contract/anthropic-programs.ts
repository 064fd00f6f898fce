import Anthropic from "@anthropic-ai/sdk";
import { govern } from "../../../src/agents/govern.ts";
import { forAnthropic } from "../../../src/anthropic/for-anthropic.ts";
import { outputAsPlainData as plainValue } from "../../../src/engine/ports/output-as-plain-data.ts";
import type { AdapterUnderTest } from "../../../src/testing.ts";

const question = { role: "user", content: "write to ana" } as const;
const given = (signal: AbortSignal | undefined) => (signal === undefined ? {} : { signal });

function textOf(content: readonly { readonly type: string; readonly text?: string }[]): string | null {
  return content.find(({ type }) => type === "text")?.text ?? null;
}

/** A loop over the messages. */
export function anthropicMessages(stream: boolean): AdapterUnderTest {
  return {
    open: async ({ engine, session, principal, tools, model, maxRetries }) => {
      const effects = Object.fromEntries(tools.map(({ name, effect }) => [name, effect]));
      const functions = Object.fromEntries(
        tools.map(({ name, input, run }) => [
          name,
          { input, run: (own: never, { signal }: { signal: AbortSignal }) => run(own, signal) },
        ]),
      );
      const writ = forAnthropic(await govern({ engine, session, principal, effects }), functions);
      const client = new Anthropic({ baseURL: model.origin, apiKey: "none", maxRetries, fetch: writ.fetch() });
      return {
        ask: async (signal) => {
          const messages: Anthropic.MessageParam[] = [question];
          for (;;) {
            const asked = { model: "claude", max_tokens: 100, messages };
            const message = stream
              ? await client.messages.stream(asked, given(signal)).finalMessage()
              : await client.messages.create(asked, given(signal));
            messages.push({ role: "assistant", content: message.content });
            const results = await writ.results(message, given(signal));
            if (results.length === 0) return { text: textOf(message.content) };
            signal?.throwIfAborted();
            messages.push(...results);
          }
        },
        close: async () => {},
      };
    },
  };
}

/** The tool runner of the SDK. */
export function anthropicRunner(stream: boolean): AdapterUnderTest {
  return {
    open: async ({ engine, session, principal, tools, model, maxRetries }) => {
      const effects = Object.fromEntries(tools.map(({ name, effect }) => [name, effect]));
      const writ = forAnthropic(await govern({ engine, session, principal, effects }));
      const client = new Anthropic({ baseURL: model.origin, apiKey: "none", maxRetries, fetch: writ.fetch() });
      const runnable = tools.map(({ name, description, input, parse, run }) => ({
        type: "custom" as const,
        name,
        description,
        input_schema: input,
        parse,
        run: async (own: never, context?: { signal?: AbortSignal | null }) => {
          const output = await run(own, context?.signal ?? undefined);
          return JSON.stringify(plainValue(output).value);
        },
      }));
      return {
        ask: async (signal) => {
          const asked = { model: "claude", max_tokens: 100, messages: [question], tools: writ.tools(runnable), stream };
          const last = await client.beta.messages.toolRunner(asked as never, given(signal)).runUntilDone();
          return { text: textOf(last.content as never) };
        },
        close: async () => {},
      };
    },
    // The runner takes texts.
    outputAsPlainData: (output) => JSON.parse(output as string),
  };
}
