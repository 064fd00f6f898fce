import type { JsonObject } from "../../src/core/values/json.ts";
import type { AskModel } from "../../src/engine/api/model-api.ts";

/** A model that answers each request by the next function of a list, and counts how often it was asked. */
export interface ScriptedModel {
  readonly asked: number;
  readonly ask: AskModel;
}

export function scriptedModel(...answers: readonly (unknown | (() => unknown))[]): ScriptedModel {
  let asked = 0;
  return {
    get asked() {
      return asked;
    },
    ask: async () => {
      const answer = answers[Math.min(asked, answers.length - 1)];
      asked += 1;
      return typeof answer === "function" ? (answer as () => unknown)() : answer;
    },
  };
}

export interface ChatMessage extends JsonObject {
  readonly role: string;
}

export const user = (content: string): ChatMessage => ({ role: "user", content });

export const assistant = (content: string | null, ...calls: readonly ToolUse[]): ChatMessage => ({
  role: "assistant",
  content,
  ...(calls.length > 0 && { tool_calls: calls.map(toolCall) }),
});

export const resultForClient = (id: string, content: unknown): ChatMessage => ({
  role: "tool",
  tool_call_id: id,
  content: JSON.stringify(content),
});

export interface ToolUse {
  readonly id: string;
  readonly tool: string;
  readonly input: JsonObject;
}

const toolCall = ({ id, tool, input }: ToolUse) => ({
  id,
  type: "function",
  function: { name: tool, arguments: JSON.stringify(input) },
});

/** The answer of a chat completion. */
export function chatAnswer(content: string | null, ...calls: readonly ToolUse[]): JsonObject {
  return { id: "chatcmpl-1", choices: [{ message: assistant(content, ...calls) }] };
}

/** A stream of server-sent events of a chat completion, in pieces that do not end where events end. */
export async function* chatStream(content: string, ...calls: readonly ToolUse[]): AsyncIterable<string> {
  const chunks = [
    { choices: [{ delta: { role: "assistant", content } }] },
    ...calls.map((call, index) => ({ choices: [{ delta: { tool_calls: [{ index, ...toolCall(call) }] } }] })),
    { choices: [{ delta: {}, finish_reason: calls.length > 0 ? "tool_calls" : "stop" }] },
  ];
  const text = `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`;
  for (let at = 0; at < text.length; at += 37) yield text.slice(at, at + 37);
}

/** A request as a loop makes it. */
export const chat = (...messages: readonly ChatMessage[]): JsonObject => ({ model: "m-1", messages: [...messages] });
