import { isJsonObject, type Json, type JsonObject } from "../values/json.ts";

/** A request to a model, taken apart: its messages, and everything else. */
export interface ModelRequestParts {
  /** The field that holds the messages. Null: the request has none. */
  readonly field: string | null;
  readonly messages: readonly Json[];
  readonly head: JsonObject;
  /** The id of the recorded answer that the messages follow, where the provider keeps the history. */
  readonly follows: string | null;
}

const messageFields = ["messages", "input", "contents", "prompt"];

/** Finds the messages of a request by its shape: of OpenAI, Anthropic, Gemini or the AI SDK. */
export function splitModelRequest(request: JsonObject): ModelRequestParts {
  const field = messageFields.find((name) => Array.isArray(request[name])) ?? null;
  const { thread = null } = request;
  const previous = isJsonObject(thread) ? thread.previous_message_id : request.previous_response_id;
  const follows = typeof previous === "string" && previous !== "" ? previous : null;
  if (field !== null) {
    const { [field]: messages, ...head } = request;
    return { field, messages: messages as readonly Json[], head, follows };
  }
  const text = messageFields.find((name) => typeof request[name] === "string") ?? null;
  if (text === null) return { field: null, messages: [], head: request, follows };
  const { [text]: message, ...head } = request;
  return { field: text, messages: [message as Json], head, follows };
}

/** Returns the ids of the tool calls that a message repeats from an earlier answer. */
export function callsInMessage(message: Json): readonly string[] {
  if (!isJsonObject(message)) return [];
  const ids: Json[] = [];
  if (message.type === "function_call" || message.type === "custom_tool_call") ids.push(message.call_id ?? null);
  for (const call of members(message.tool_calls)) ids.push(call.id ?? null);
  for (const part of members(message.content)) {
    if (part.type === "tool_use") ids.push(part.id ?? null);
    if (part.type === "tool-call") ids.push(part.toolCallId ?? null);
  }
  return ids.filter((id): id is string => typeof id === "string");
}

/**
 * Returns a message without the marks that only say what a provider caches: they move from request to request. Returns
 * the message itself if it has none.
 */
export function withoutCacheMarks(message: Json): Json {
  if (Array.isArray(message)) {
    const parts = (message as readonly Json[]).map(withoutCacheMarks);
    return parts.some((part, at) => part !== message[at]) ? parts : message;
  }
  if (!isJsonObject(message)) return message;
  const { content } = message;
  const inner = Array.isArray(content) ? withoutCacheMarks(content) : content;
  if (inner === content && message.cache_control === undefined) return message;
  const { cache_control: _mark, ...rest } = message;
  return inner === undefined ? rest : { ...rest, content: inner };
}

function members(list: Json | undefined): readonly JsonObject[] {
  return Array.isArray(list) ? (list as readonly Json[]).filter(isJsonObject) : [];
}
