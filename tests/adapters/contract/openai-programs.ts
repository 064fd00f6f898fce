import OpenAI from "openai";
import { govern } from "../../../src/agents/govern.ts";
import { forOpenAI } from "../../../src/openai/for-openai.ts";
import type { AdapterSetting, AdapterUnderTest } from "../../../src/testing.ts";

async function opened({ engine, session, principal, tools, model, maxRetries }: AdapterSetting) {
  const effects = Object.fromEntries(tools.map(({ name, effect }) => [name, effect]));
  const functions = Object.fromEntries(
    tools.map(({ name, input, run }) => [
      name,
      { input, run: (given: never, { signal }: { signal: AbortSignal }) => run(given, signal) },
    ]),
  );
  const writ = forOpenAI(await govern({ engine, session, principal, effects }), functions);
  return { writ, client: new OpenAI({ baseURL: model.url, apiKey: "none", maxRetries, fetch: writ.fetch() }) };
}

const question = { role: "user", content: "write to ana" } as const;
const given = (signal: AbortSignal | undefined) => (signal === undefined ? {} : { signal });

/** A loop over the chat completions. */
export function openAiChat(stream: boolean): AdapterUnderTest {
  return {
    open: async (setting) => {
      const { writ, client } = await opened(setting);
      return {
        ask: async (signal) => {
          const messages: OpenAI.ChatCompletionMessageParam[] = [question];
          for (;;) {
            const asked = { model: "gpt", messages };
            const completion = stream
              ? await client.chat.completions.stream(asked, given(signal)).finalChatCompletion()
              : await client.chat.completions.create(asked, given(signal));
            const message = completion.choices[0]?.message as OpenAI.ChatCompletionMessage;
            messages.push(message);
            const results = await writ.results(message, given(signal));
            if (results.length === 0) return { text: message.content };
            signal?.throwIfAborted();
            messages.push(...(results as OpenAI.ChatCompletionMessageParam[]));
          }
        },
        close: async () => {},
      };
    },
  };
}

/** A loop over the responses. */
export function openAiResponses(stream: boolean): AdapterUnderTest {
  return {
    open: async (setting) => {
      const { writ, client } = await opened(setting);
      return {
        ask: async (signal) => {
          let input: OpenAI.Responses.ResponseInput = [question];
          for (;;) {
            const asked = { model: "gpt", input };
            const response = stream
              ? await client.responses.stream(asked, given(signal)).finalResponse()
              : await client.responses.create(asked, given(signal));
            const results = await writ.results(response, given(signal));
            if (results.length === 0) return { text: response.output_text };
            signal?.throwIfAborted();
            input = [...input, ...(response.output as OpenAI.Responses.ResponseInput), ...(results as never[])];
          }
        },
        close: async () => {},
      };
    },
  };
}

/** The runner of the SDK, which passes no ids to its functions. */
export const openAiRunTools: AdapterUnderTest = {
  open: async (setting) => {
    const { engine, session, principal, tools, model, maxRetries } = setting;
    const effects = Object.fromEntries(tools.map(({ name, effect }) => [name, effect]));
    const writ = forOpenAI(await govern({ engine, session, principal, effects }));
    const client = new OpenAI({ baseURL: model.url, apiKey: "none", maxRetries, fetch: writ.fetch() });
    const runnable = tools.map(({ name, description, input, parse, run }) => ({
      type: "function" as const,
      function: {
        name,
        description,
        parameters: input,
        parse: (text: string) => parse(JSON.parse(text)),
        function: (args: never, runner: { controller: AbortController }) => run(args, runner.controller.signal),
      },
    }));
    return {
      ask: async (signal) => {
        const asked = { model: "gpt", messages: [question], tools: writ.tools(runnable) };
        const runner = client.chat.completions.runTools(asked as never, given(signal));
        return { text: await runner.finalContent() };
      },
      close: async () => {},
    };
  },
};
