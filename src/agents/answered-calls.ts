import { splitModelRequest } from "../core/model/split-model-request.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/values/json.ts";

/** A call whose result is in the messages of a request. */
export interface AnsweredCall {
  readonly id: string;
  /** The arguments as the model wrote them. Empty: the provider keeps the history, so they are not in the request. */
  readonly input: Json;
}

/** Returns the calls whose results a request contains, in the protocols of OpenAI and Anthropic. */
export function answeredCalls(request: JsonObject): readonly AnsweredCall[] {
  const messages = splitModelRequest(request).messages.filter(isJsonObject);
  const parts = messages.flatMap((message) => [message, ...members(message.content), ...members(message.tool_calls)]);
  const inputs = new Map(parts.flatMap(inputOf));
  const ids = parts.map(resultId).filter((id): id is string => typeof id === "string");
  return ids.map((id) => ({ id, input: inputs.get(id) ?? "" }));
}

function resultId({ role, type, tool_call_id, call_id, tool_use_id }: JsonObject): Json | undefined {
  if (role === "tool") return tool_call_id;
  if (type === "function_call_output") return call_id;
  return type === "tool_result" ? tool_use_id : undefined;
}

function inputOf(part: JsonObject): readonly (readonly [Json | undefined, Json | undefined])[] {
  const { type, id, call_id, input, function: named } = part;
  if (type === "function" && isJsonObject(named)) return [[id, named.arguments]];
  if (type === "function_call") return [[call_id, part.arguments]];
  return type === "tool_use" ? [[id, input]] : [];
}

function members(list: Json | undefined): readonly JsonObject[] {
  return Array.isArray(list) ? (list as readonly Json[]).filter(isJsonObject) : [];
}
