import { isJsonObject, type JsonObject } from "../../core/values/json.ts";
import { countIn, type ModelProtocol, pieces, type StreamEvent, type WholeAnswer } from "./model-script.ts";

const CREATED = 1_700_000_000;
const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 } as const;

/** The chat completions of OpenAI. */
export const openAiChat: ModelProtocol = {
  end: "[DONE]",
  answered: ({ messages }) => countIn(messages, ({ role }) => role === "assistant"),
  whole: (answer) => ({
    ...head(answer, "chat.completion"),
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: answer.text,
          refusal: null,
          ...(answer.calls.length > 0 && { tool_calls: answer.calls.map(toolCall) }),
        },
        finish_reason: finishReason(answer),
        logprobs: null,
      },
    ],
    usage,
  }),
  stream: chatEvents,
};

const head = ({ id, model }: WholeAnswer, object: string) => ({
  id: `chatcmpl-${id}`,
  object,
  created: CREATED,
  model,
});
const finishReason = ({ calls }: WholeAnswer) => (calls.length > 0 ? "tool_calls" : "stop");

function toolCall({ id, tool, arguments: json }: WholeAnswer["calls"][number]) {
  return { id, type: "function", function: { name: tool, arguments: json } } as const;
}

function chatEvents(answer: WholeAnswer, { stream_options }: JsonObject): readonly StreamEvent[] {
  const chunk = (delta: JsonObject, finish_reason: string | null = null): StreamEvent => ({
    data: { ...head(answer, "chat.completion.chunk"), choices: [{ index: 0, delta, finish_reason }] },
  });
  const calls = answer.calls.flatMap((call, index) => {
    const opened = { ...toolCall(call), function: { name: call.tool, arguments: "" } };
    const part = (text: string) => chunk({ tool_calls: [{ index, function: { arguments: text } }] });
    return [chunk({ tool_calls: [{ index, ...opened }] }), ...pieces(call.arguments).map(part)];
  });
  const counted = isJsonObject(stream_options ?? null) && (stream_options as JsonObject).include_usage === true;
  return [
    chunk({ role: "assistant", content: answer.text === null ? null : "" }),
    ...pieces(answer.text ?? "").map((content) => chunk({ content })),
    ...calls,
    chunk({}, finishReason(answer)),
    ...(counted ? [{ data: { ...head(answer, "chat.completion.chunk"), choices: [], usage } }] : []),
  ];
}
