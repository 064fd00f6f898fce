import { isJsonObject, type Json, type JsonObject } from "../values/json.ts";
import type { ModelContent, ModelToolCall, ModelUsage } from "./model-content.ts";
import { parseEventStream } from "./parse-event-stream.ts";

/** The facts about a model's answer that the engine uses. */
export interface ModelAnswerFacts {
  readonly calls: readonly ModelToolCall[];
  readonly final: boolean;
  readonly answer_id: string | null;
  /** Null: the answer reports none. */
  readonly usage: ModelUsage | null;
  /** Why the answer is not whole: its stream was cut, or the provider reports an error in it. Null: it is whole. */
  readonly broken: string | null;
}

/**
 * Reads the answer of a provider by its shape: OpenAI chat completions and responses, Anthropic messages, Gemini and
 * the language models of the AI SDK, as JSON, as a text of server-sent events or as a list of chunks. An answer of
 * another shape has no calls.
 */
export function readModelAnswer(content: ModelContent): ModelAnswerFacts {
  const reader = new AnswerReader();
  if (content.form === "json") reader.readWhole(content.json);
  else if (content.form === "chunks") for (const chunk of content.chunks) reader.readChunk(chunk);
  else readText(reader, content.text);
  return reader.facts(content.form !== "json");
}

function readText(reader: AnswerReader, text: string): void {
  for (const data of parseEventStream(text)) {
    if (data === "[DONE]") {
      reader.end();
      continue;
    }
    const value = parsed(data);
    if (value !== undefined) reader.readChunk(value);
  }
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** The items of OpenAI responses that a client has to answer. */
const clientCalls = new Set([
  "function_call",
  "custom_tool_call",
  "computer_call",
  "local_shell_call",
  "shell_call",
  "apply_patch_call",
]);

class AnswerReader {
  readonly #calls = new Map<string, string | null>();
  #isCalling = false;
  #answerId: string | null = null;
  #tokensIn = 0;
  #tokensOut = 0;
  #model = "";
  #isKnownStream = false;
  #hasEnded = false;
  #error: string | null = null;

  facts(isStream: boolean): ModelAnswerFacts {
    const calls = Array.from(this.#calls, ([id, tool]) => ({ id, tool }));
    const hasUsage = this.#tokensIn + this.#tokensOut > 0;
    const isCut = isStream && this.#isKnownStream && !this.#hasEnded;
    return {
      calls,
      final: calls.length === 0 && !this.#isCalling,
      answer_id: this.#answerId,
      usage: hasUsage ? { tokens_in: this.#tokensIn, tokens_out: this.#tokensOut, model: this.#model } : null,
      broken: this.#error ?? (isCut ? "the stream of the answer was cut before its end" : null),
    };
  }

  end(): void {
    this.#isKnownStream = true;
    this.#hasEnded = true;
  }

  /** Reads an answer that came as one value. */
  readWhole(answer: Json): void {
    if (!isJsonObject(answer)) return;
    this.#readError(answer);
    this.#readHead(answer);
    for (const choice of objects(answer.choices)) this.#readChatMessage(choice.message);
    for (const item of objects(answer.output)) this.#readResponseItem(item);
    this.#readParts(answer.content);
    for (const candidate of objects(answer.candidates)) this.#readCandidate(candidate);
    if (answer.stop_reason === "pause_turn") this.#isCalling = true;
  }

  /** Reads one event of a stream. */
  readChunk(chunk: Json): void {
    if (!isJsonObject(chunk)) return;
    this.#readError(chunk);
    this.#readHead(chunk);
    for (const choice of objects(chunk.choices)) this.#readChatChoice(choice);
    for (const candidate of objects(chunk.candidates)) this.#readCandidate(candidate);
    this.#readTypedEvent(chunk);
  }

  #readChatChoice({ delta, finish_reason }: JsonObject): void {
    this.#isKnownStream = true;
    this.#readChatMessage(delta);
    if (finish_reason !== null && finish_reason !== undefined) this.#hasEnded = true;
  }

  #readTypedEvent(chunk: JsonObject): void {
    const { type } = chunk;
    switch (type) {
      case "message_start":
        this.#isKnownStream = true;
        if (isJsonObject(chunk.message)) this.#readHead(chunk.message);
        return;
      case "content_block_start":
        this.#readParts([chunk.content_block ?? null]);
        return;
      case "message_delta":
        if (isJsonObject(chunk.delta) && chunk.delta.stop_reason === "pause_turn") this.#isCalling = true;
        return;
      case "message_stop":
      case "finish":
        this.end();
        return;
      case "stream-start":
      case "response.created":
        this.#isKnownStream = true;
        return;
      case "response.output_item.done":
        if (isJsonObject(chunk.item)) this.#readResponseItem(chunk.item);
        return;
      case "response.completed":
      case "response.incomplete":
        this.end();
        if (isJsonObject(chunk.response)) this.readWhole(chunk.response);
        return;
      case "response.failed":
        this.#error = "the provider reports that the answer failed";
        return;
      case "tool-call":
        this.#readParts([chunk]);
        return;
    }
  }

  /** Reads the id, the model and the tokens, whatever the provider calls them. */
  #readHead({ id, model, usage, usageMetadata, modelVersion }: JsonObject): void {
    if (typeof id === "string" && id !== "") this.#answerId ??= id;
    if (typeof model === "string") this.#model = model;
    if (typeof modelVersion === "string") this.#model = modelVersion;
    const used = isJsonObject(usage) ? usage : usageMetadata;
    if (!isJsonObject(used)) return;
    this.#tokensIn = Math.max(
      this.#tokensIn,
      count(used.prompt_tokens ?? used.input_tokens ?? used.inputTokens ?? used.promptTokenCount),
    );
    const out = used.completion_tokens ?? used.output_tokens ?? used.outputTokens ?? used.candidatesTokenCount;
    this.#tokensOut = Math.max(this.#tokensOut, count(out));
  }

  #readError({ error, type }: JsonObject): void {
    if (type !== "error" && !isJsonObject(error) && (typeof error !== "string" || error === "")) return;
    const message = isJsonObject(error) ? error.message : error;
    this.#error = typeof message === "string" ? message.slice(0, 2000) : "the provider reports an error";
  }

  #readChatMessage(message: Json | undefined): void {
    if (!isJsonObject(message)) return;
    for (const call of objects(message.tool_calls)) {
      const target = isJsonObject(call.function) ? call.function : call.custom;
      this.#add(call.id, isJsonObject(target) ? target.name : undefined);
    }
    if (isJsonObject(message.function_call)) this.#isCalling = true;
  }

  #readResponseItem({ type, call_id, name }: JsonObject): void {
    if (typeof type === "string" && clientCalls.has(type)) this.#add(call_id, name);
    if (type === "mcp_approval_request") this.#isCalling = true;
  }

  /** Reads the parts of an Anthropic message or of an answer of the AI SDK. */
  #readParts(content: Json | undefined): void {
    for (const part of objects(content)) {
      if (part.type === "tool_use") this.#add(part.id, part.name);
      if (part.type === "tool-call" && part.providerExecuted !== true) this.#add(part.toolCallId, part.toolName);
    }
  }

  #readCandidate({ content }: JsonObject): void {
    const parts = isJsonObject(content) ? content.parts : undefined;
    for (const { functionCall } of objects(parts))
      if (isJsonObject(functionCall)) this.#add(functionCall.id, functionCall.name);
  }

  #add(id: Json | undefined, tool: Json | undefined): void {
    this.#isCalling = true;
    if (typeof id !== "string" || id === "") return; // A later chunk of the same call, or a provider without ids.
    this.#calls.set(id, typeof tool === "string" ? tool : (this.#calls.get(id) ?? null));
  }
}

function objects(list: Json | undefined): readonly JsonObject[] {
  return Array.isArray(list) ? (list as readonly Json[]).filter(isJsonObject) : [];
}

function count(value: Json | undefined): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}
