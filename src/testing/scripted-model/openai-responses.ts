import type { Json, JsonObject } from "../../core/values/json.ts";
import { continuedAnswer, countIn, type ModelProtocol, type StreamEvent, type WholeAnswer } from "./model-script.ts";

const CREATED = 1_700_000_000;

/** The responses of OpenAI. One answer may be several neighbouring items of the input, which count once. */
export const openAiResponses: ModelProtocol = {
  end: null,
  answered: ({ input, previous_response_id }) =>
    continuedAnswer(previous_response_id) ?? countIn(firstOfNeighbours(input), isAnswerItem),
  whole: (answer) => response(answer, "completed", items(answer)),
  stream: responseEvents,
};

function isAnswerItem({ type, role }: JsonObject): boolean {
  return type === "function_call" || role === "assistant";
}

/** Leaves the first of neighbouring items of one answer. */
function firstOfNeighbours(input: Json | undefined): Json {
  const list = Array.isArray(input) ? (input as readonly JsonObject[]) : [];
  return list.filter((item, at) => !(isAnswerItem(item) && at > 0 && isAnswerItem(list[at - 1] as JsonObject)));
}

function items({ id, text, calls }: WholeAnswer): readonly JsonObject[] {
  const message = {
    type: "message",
    id: `msg_${id}`,
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: text ?? "", annotations: [] }],
  } as const;
  return [
    ...(text === null ? [] : [message]),
    ...calls.map((call, at) => ({
      type: "function_call",
      id: `fc_${id}_${at}`,
      call_id: call.id,
      name: call.tool,
      arguments: call.arguments,
      status: "completed",
    })),
  ];
}

function response({ id, model }: WholeAnswer, status: string, output: readonly JsonObject[]): JsonObject {
  return {
    id: `resp_${id}`,
    object: "response",
    created_at: CREATED,
    status,
    error: null,
    incomplete_details: null,
    instructions: null,
    model,
    output,
    parallel_tool_calls: true,
    tool_choice: "auto",
    tools: [],
    temperature: 1,
    top_p: 1,
    metadata: {},
    usage: {
      input_tokens: 9,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 4,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 13,
    },
  };
}

function responseEvents(answer: WholeAnswer): readonly StreamEvent[] {
  const output = items(answer);
  const events: { readonly type: string; readonly fields: JsonObject }[] = [
    { type: "response.created", fields: { response: response(answer, "in_progress", []) } },
  ];
  for (const [output_index, item] of output.entries()) events.push(...itemEvents(item, output_index));
  events.push({ type: "response.completed", fields: { response: response(answer, "completed", output) } });
  return events.map(({ type, fields }, sequence_number) => ({
    event: type,
    data: { type, sequence_number, ...fields },
  }));
}

function itemEvents(item: JsonObject, output_index: number) {
  const at = { item_id: item.id as string, output_index };
  const opened = { ...item, status: "in_progress", ...(item.type === "message" ? { content: [] } : { arguments: "" }) };
  const [part] = (item.content ?? []) as readonly JsonObject[];
  const inside =
    part === undefined
      ? [
          { type: "response.function_call_arguments.delta", fields: { ...at, delta: item.arguments as string } },
          { type: "response.function_call_arguments.done", fields: { ...at, arguments: item.arguments as string } },
        ]
      : [
          { type: "response.content_part.added", fields: { ...at, content_index: 0, part: { ...part, text: "" } } },
          { type: "response.output_text.delta", fields: { ...at, content_index: 0, delta: part.text as string } },
          { type: "response.output_text.done", fields: { ...at, content_index: 0, text: part.text as string } },
          { type: "response.content_part.done", fields: { ...at, content_index: 0, part } },
        ];
  return [
    { type: "response.output_item.added", fields: { output_index, item: opened } },
    ...inside,
    { type: "response.output_item.done", fields: { output_index, item } },
  ];
}
