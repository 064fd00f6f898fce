import { isJsonObject, type Json, type JsonObject } from "../../core/values/json.ts";
import {
  continuedAnswer,
  countIn,
  type ModelProtocol,
  pieces,
  type StreamEvent,
  type WholeAnswer,
} from "./model-script.ts";

const usage = {
  input_tokens: 11,
  output_tokens: 7,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
} as const;

/** The messages of Anthropic. */
export const anthropicMessages: ModelProtocol = {
  end: null,
  answered: ({ messages, thread }) =>
    continuedAnswer(isJsonObject(thread ?? null) ? (thread as JsonObject).previous_message_id : undefined) ??
    countIn(messages, ({ role }) => role === "assistant"),
  whole: (answer) => message(answer, blocks(answer), stopReason(answer)),
  stream: messageEvents,
};

const stopReason = ({ calls }: WholeAnswer) => (calls.length > 0 ? "tool_use" : "end_turn");

function message({ id, model }: WholeAnswer, content: readonly Json[], stop_reason: string | null): JsonObject {
  return {
    id: `msg_${id}`,
    type: "message",
    role: "assistant",
    model,
    content,
    stop_reason,
    stop_sequence: null,
    usage,
  };
}

function blocks({ text, calls }: WholeAnswer): readonly JsonObject[] {
  return [
    ...(text === null ? [] : [{ type: "text", text }]),
    ...calls.map(({ id, tool, arguments: json }) => ({ type: "tool_use", id, name: tool, input: parsed(json) })),
  ];
}

/** An input that is no JSON can only come in a stream, where it is a text. */
function parsed(json: string): Json {
  try {
    return JSON.parse(json) as Json;
  } catch {
    return {};
  }
}

function messageEvents(answer: WholeAnswer): readonly StreamEvent[] {
  const named = (type: string, fields: JsonObject): StreamEvent => ({ event: type, data: { type, ...fields } });
  const texts = answer.text === null ? [] : [answer.text];
  const opened = [
    ...texts.map((text) => ({
      block: { type: "text", text: "" } as JsonObject,
      deltas: pieces(text).map((piece) => ({ type: "text_delta", text: piece })),
    })),
    ...answer.calls.map((call) => ({
      block: { type: "tool_use", id: call.id, name: call.tool, input: {} } as JsonObject,
      deltas: pieces(call.arguments).map((partial_json) => ({ type: "input_json_delta", partial_json })),
    })),
  ];
  return [
    named("message_start", { message: message(answer, [], null) }),
    ...opened.flatMap(({ block, deltas }, index) => [
      named("content_block_start", { index, content_block: block }),
      ...deltas.map((delta) => named("content_block_delta", { index, delta })),
      named("content_block_stop", { index }),
    ]),
    named("message_delta", {
      delta: { stop_reason: stopReason(answer), stop_sequence: null },
      usage: { output_tokens: usage.output_tokens },
    }),
    named("message_stop", {}),
  ];
}
