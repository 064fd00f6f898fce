import { parseArguments } from "../agents/call-functions.ts";
import type { FrameworkCall } from "../agents/governed.ts";
import type { CallAnswer } from "../core/run/call-answer.ts";
import { modelText } from "../core/run/call-answer.ts";

/** A result of a call, in the form that the next request of the chat or of the responses takes. */
export type OpenAiResult =
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string }
  | { readonly type: "function_call_output"; readonly call_id: string; readonly output: string };

/** A call of a model, and how its result is written. */
export interface OpenAiCall {
  readonly call: FrameworkCall;
  result(answer: CallAnswer): OpenAiResult;
}

interface Fields {
  readonly [name: string]: unknown;
}

const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null;
const list = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isFields) : []);

/**
 * Returns the calls of an answer of OpenAI: a message of the chat, a whole completion, a response, or a list of the items
 * of a response. A value of another form has none.
 */
export function readOpenAiCalls(answer: unknown): readonly OpenAiCall[] {
  if (Array.isArray(answer)) return list(answer).flatMap(responseCall);
  if (!isFields(answer)) return [];
  const messages = list(answer.choices).map(({ message }) => message);
  const chat = [answer, ...messages].filter(isFields).flatMap(({ tool_calls }) => list(tool_calls).flatMap(chatCall));
  return [...chat, ...list(answer.output).flatMap(responseCall)];
}

function chatCall({ id, function: named }: Fields): readonly OpenAiCall[] {
  if (typeof id !== "string" || !isFields(named) || typeof named.name !== "string") return [];
  return [
    {
      call: { id, tool: named.name, input: parseArguments(named.arguments) },
      result: (answer) => ({ role: "tool", tool_call_id: id, content: modelText(answer).text }),
    },
  ];
}

function responseCall({ type, call_id, name, arguments: text }: Fields): readonly OpenAiCall[] {
  if (type !== "function_call" || typeof call_id !== "string" || typeof name !== "string") return [];
  return [
    {
      call: { id: call_id, tool: name, input: parseArguments(text) },
      result: (answer) => ({ type: "function_call_output", call_id, output: modelText(answer).text }),
    },
  ];
}
