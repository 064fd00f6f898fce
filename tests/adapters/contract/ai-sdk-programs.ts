import { createOpenAI as createOpenAI6 } from "@ai-sdk/openai";
import { createOpenAI as createOpenAI7 } from "@ai-sdk/openai-4";
import * as ai6 from "ai";
import * as ai7 from "ai-7";
import { govern } from "../../../src/agents/govern.ts";
import { forAiSdk } from "../../../src/ai-sdk/for-ai-sdk.ts";
import type { AdapterSetting, AdapterUnderTest } from "../../../src/testing.ts";

export type AiSdk = typeof ai6;
export type Way = "generateText" | "streamText" | "ToolLoopAgent";

/** The two majors of the AI SDK. The adapter uses nothing that differs in their types. */
export const aiSdks = [
  { major: 6, ai: ai6, createOpenAI: createOpenAI6 },
  {
    major: 7,
    ai: ai7 as unknown as AiSdk,
    createOpenAI: createOpenAI7 as unknown as typeof createOpenAI6,
  },
] as const;

const question = [{ role: "user", content: "write to ana" }] as ai6.ModelMessage[];

/** A program over the AI SDK that keeps its messages, as the server of a chat does. */
export function aiSdkAdapter({ ai, createOpenAI }: (typeof aiSdks)[number], way: Way): AdapterUnderTest {
  return {
    open: async ({ engine, session, principal, tools, model, maxRetries }: AdapterSetting) => {
      const effects = Object.fromEntries(tools.map(({ name, effect }) => [name, effect]));
      const writ = forAiSdk(await govern({ engine, session, principal, effects }));
      const openai = createOpenAI({ baseURL: model.url, apiKey: "none", fetch: writ.fetch() });
      const own = Object.fromEntries(
        tools.map(({ name, description, input, parse, run }) => [
          name,
          ai.tool({
            description,
            inputSchema: ai.jsonSchema(input as object, { validate: (value) => checked(() => parse(value)) }),
            execute: (given: unknown, { abortSignal }: { abortSignal?: AbortSignal | undefined }) =>
              run(given as never, abortSignal),
          } as never),
        ]),
      );
      const base = {
        model: openai.chat("scripted"),
        tools: writ.tools(own),
        stopWhen: ai.stepCountIs(9),
        maxRetries,
      };
      let messages = question;
      const say = async (abortSignal?: AbortSignal) => {
        const { content, response, text } = await saying(ai, way, base, messages, abortSignal);
        messages = [...messages, ...response.messages];
        const waits = content.some(({ type }) => type === "tool-approval-request");
        return { text: waits ? null : text };
      };
      return {
        ask: (signal) => {
          messages = question;
          return say(signal);
        },
        respond: (responses) => {
          const requests = messages.flatMap(({ content }) =>
            typeof content === "string" ? [] : (content as readonly Part[]).filter(isRequest),
          );
          const answers = responses.flatMap(({ id, approved }) =>
            requests
              .filter(({ toolCallId }) => toolCallId === id)
              .map(({ approvalId }) => ({ type: "tool-approval-response", approvalId, approved })),
          );
          messages = [...messages, { role: "tool", content: answers } as unknown as ai6.ModelMessage];
          return say();
        },
        close: async () => {},
      };
    },
  };
}

interface Part {
  readonly type: string;
  readonly toolCallId?: string;
  readonly approvalId?: string;
}

const isRequest = ({ type }: Part) => type === "tool-approval-request";

interface Said {
  readonly text: string;
  readonly content: readonly Part[];
  readonly response: { readonly messages: readonly ai6.ModelMessage[] };
}

async function saying(
  ai: AiSdk,
  way: Way,
  base: object,
  messages: ai6.ModelMessage[],
  abortSignal?: AbortSignal,
): Promise<Said> {
  const asked = { messages, ...(abortSignal !== undefined && { abortSignal }) };
  if (way === "ToolLoopAgent") return (await new ai.ToolLoopAgent(base as never).generate(asked as never)) as never;
  if (way === "generateText") return (await ai.generateText({ ...base, ...asked } as never)) as never;
  let failure: unknown = null;
  const onError = ({ error }: { error: unknown }) => {
    failure = error;
  };
  const streamed = ai.streamText({ ...base, ...asked, onError } as never);
  await streamed.consumeStream();
  if (failure !== null) throw failure;
  return { text: await streamed.text, content: await streamed.content, response: await streamed.response } as never;
}

function checked(parse: () => unknown) {
  try {
    return { success: true as const, value: parse() };
  } catch (error) {
    return { success: false as const, error: error as Error };
  }
}
