import { isJsonObject, type Json, type JsonObject } from "../../core/values/json.ts";

/** Returns the texts about calls in the requests to a model, by the id of the call: the last one of each. */
export function textsAboutCalls(requests: readonly JsonObject[]): Readonly<Record<string, string>> {
  const told: Record<string, string> = {};
  for (const { messages, input } of requests)
    for (const message of objects(messages ?? input))
      for (const part of [message, ...objects(message.content)]) {
        const id =
          part.tool_call_id ?? part.tool_use_id ?? (part.type === "function_call_output" ? part.call_id : null);
        if (typeof id === "string") told[id] = textOf(part.content ?? part.output ?? "");
      }
  return told;
}

function textOf(content: Json): string {
  if (typeof content === "string") return content;
  return objects(content)
    .map(({ text }) => (typeof text === "string" ? text : ""))
    .join("");
}

function objects(list: Json | undefined): readonly JsonObject[] {
  return Array.isArray(list) ? (list as readonly Json[]).filter(isJsonObject) : [];
}
