import type { ModelContent } from "../../../src/core/model/model-content.ts";
import type { Json, JsonObject } from "../../../src/core/values/json.ts";

/** A message of a conversation, whatever the format of its provider. */
export interface ReadMessage {
  readonly role: "person" | "instructions" | "model" | "results" | "other";
  /** Its texts, in order. Calls of tools and their results are not among them. */
  readonly texts: readonly string[];
}

const roles: Readonly<Record<string, ReadMessage["role"]>> = {
  user: "person",
  system: "instructions",
  developer: "instructions",
  assistant: "model",
  model: "model",
  tool: "results",
  function: "results",
};

/** Returns the role and the texts of a message. A message of an unknown form has none, and is shown as JSON. */
export function readMessage(message: Json): ReadMessage {
  if (typeof message === "string") return { role: "person", texts: [message] };
  if (!isObject(message)) return { role: "other", texts: [] };
  const { role, content, parts, type } = message;
  if (type === "function_call_output") return { role: "results", texts: [] };
  const given = content ?? parts ?? null;
  const known = typeof role === "string" ? (roles[role] ?? "other") : "other";
  const hasOnlyResults = Array.isArray(given) && given.length > 0 && given.every(isResult);
  return { role: hasOnlyResults ? "results" : known, texts: textsOf(given) };
}

/** Returns the texts of the answer of a model. */
export function answerTexts(content: ModelContent): readonly string[] {
  if (content.form === "text") return streamTexts(content.text);
  if (content.form === "chunks") return joined(content.chunks.flatMap(deltaTexts));
  return textsOf(content.json);
}

/** Returns the data lines of a recorded event stream as texts, or the text itself if it is none. */
function streamTexts(text: string): readonly string[] {
  const lines = text.split("\n").filter((line) => line.startsWith("data:"));
  if (lines.length === 0) return text === "" ? [] : [text];
  return joined(
    lines.flatMap((line) => {
      try {
        return deltaTexts(JSON.parse(line.slice(5)) as Json);
      } catch {
        return [];
      }
    }),
  );
}

function joined(pieces: readonly string[]): readonly string[] {
  const text = pieces.join("");
  return text === "" ? [] : [text];
}

/** The fields that hold the text of a part, an answer or a piece of a stream, in the formats of the known providers. */
const textFields = ["text", "delta", "content", "message", "choices", "output", "output_text", "parts", "candidates"];

/** Returns the pieces of text in one event of a stream. */
function deltaTexts(piece: Json): readonly string[] {
  if (!isObject(piece)) return [];
  const { type } = piece;
  // The last event of some streams repeats the whole answer, and reasoning is no answer.
  if (typeof type === "string" && /\.(?:done|completed)$|reasoning|tool|^response\.created/.test(type)) return [];
  return textsOf(piece);
}

function textsOf(value: Json | undefined, depth = 0): readonly string[] {
  if (typeof value === "string") return value === "" ? [] : [value];
  if (Array.isArray(value))
    return value.filter((part) => !isCallOrResult(part)).flatMap((part) => textsOf(part, depth + 1));
  if (!isObject(value) || depth > 8) return [];
  const found = textFields.filter((field) => value[field] !== undefined && value[field] !== null);
  const [first] = found;
  return first === undefined ? [] : textsOf(value[first], depth + 1);
}

function isCallOrResult(part: Json): boolean {
  return isObject(part) && /tool|function_call|reasoning|thinking/.test(String(part.type ?? ""));
}

function isResult(part: Json): boolean {
  return isObject(part) && /tool[_-]result|function_call_output/.test(String(part.type ?? ""));
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
