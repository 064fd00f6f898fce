import { isJsonObject, type Json } from "../values/json.ts";

/**
 * Returns the text of a whole answer of a model, by its shape: a text, OpenAI chat completions and responses, Anthropic
 * messages, Gemini, and results with a field `text`. Null: it has no text.
 */
export function readAnswerText(answer: Json): string | null {
  if (typeof answer === "string") return answer;
  if (!isJsonObject(answer)) return null;
  if (typeof answer.text === "string") return answer.text;
  if (typeof answer.output_text === "string") return answer.output_text;
  const choice = firstOf(answer.choices);
  if (isJsonObject(choice) && isJsonObject(choice.message)) return partsText(choice.message.content);
  if (Array.isArray(answer.output)) return joined(answer.output.map((item) => contentOf(item)));
  const candidate = firstOf(answer.candidates);
  if (isJsonObject(candidate) && isJsonObject(candidate.content)) return partsText(candidate.content.parts);
  return partsText(answer.content);
}

function firstOf(list: Json | undefined): Json | undefined {
  return Array.isArray(list) ? (list as readonly Json[])[0] : undefined;
}

/** The text of a message among the items of a response. Reasoning and calls have none. */
function contentOf(item: Json): string | null {
  return isJsonObject(item) && item.type === "message" ? partsText(item.content) : null;
}

function partsText(content: Json | undefined): string | null {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return null;
  return joined((content as readonly Json[]).map((part) => textOf(part)));
}

function textOf(part: Json): string | null {
  return isJsonObject(part) && part.thought !== true && typeof part.text === "string" ? part.text : null;
}

function joined(texts: readonly (string | null)[]): string | null {
  const found = texts.filter((text) => text !== null);
  return found.length === 0 ? null : found.join("");
}
