import { checkJson, valueLimits } from "../../core/json/check-json.ts";
import { contentLength, type ModelContent, type ModelOutput } from "../../core/model/model-content.ts";
import { type ModelAnswerFacts, readModelAnswer } from "../../core/model/read-model-answer.ts";
import type { ToolContext } from "../../core/tool/tool.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Json } from "../../core/values/json.ts";
import type { AskModel, ModelCallOptions } from "../api/model-api.ts";
import { outputAsPlainData } from "../ports/output-as-plain-data.ts";
import { untilAborted } from "../ports/until-aborted.ts";

type ReceiveOptions = Pick<ModelCallOptions, "onChunk" | "readCalls" | "content">;

/** The answer of a model, and the output that is recorded. */
export interface ReceivedAnswer {
  readonly content: ModelContent;
  readonly output: ModelOutput;
}

/** Asks the model and reads its whole answer. A stream that is cut, or an answer that reports an error, is a failure. */
export async function receiveAnswer(
  ask: AskModel,
  { signal, step_id, attempt, traceparent, cost }: ToolContext,
  options: ReceiveOptions,
): Promise<ReceivedAnswer> {
  let hasCost = false;
  const given = await ask({
    signal,
    step_id,
    attempt,
    traceparent,
    cost: (spent) => {
      hasCost = true;
      cost(spent);
    },
  });
  const content = await readContent(given, signal, options.onChunk);
  const facts = readModelAnswer(content);
  if (facts.broken !== null)
    throw new FaultError(fault("ANSWER_INCOMPLETE", `the model did not answer: ${facts.broken}`));
  if (!hasCost && facts.usage !== null) cost(facts.usage);
  return { content, output: toOutput(content, facts, options) };
}

async function readContent(
  given: unknown,
  signal: AbortSignal,
  onChunk: ReceiveOptions["onChunk"],
): Promise<ModelContent> {
  const stream = chunksOf(given);
  return stream === null ? { form: "json", json: readJson(given) } : readStream(stream, signal, onChunk);
}

function chunksOf(given: unknown): AsyncIterable<unknown> | null {
  if (typeof given !== "object" || given === null || !(Symbol.asyncIterator in given)) return null;
  return given as AsyncIterable<unknown>;
}

function readJson(given: unknown): Json {
  const { value, contents } = outputAsPlainData(given);
  if (contents !== null)
    throw new FaultError(fault("SCHEMA_VALIDATION_FAILED", "the answer of the model contains bytes; return text"));
  const checked = checkJson(value, valueLimits);
  if (checked.ok) return checked.value;
  const why = checked.reasons.map(({ path, message }) => `${path || "/"}: ${message}`).join("; ");
  throw new FaultError(
    fault(
      checked.tooLarge ? "LIMIT_EXCEEDED" : "SCHEMA_VALIDATION_FAILED",
      `the answer of the model cannot be recorded: ${why}`,
    ),
  );
}

/** Passes each chunk on and keeps it. Texts and bytes become one text; other chunks are JSON. */
async function readStream(
  stream: AsyncIterable<unknown>,
  signal: AbortSignal,
  onChunk: ReceiveOptions["onChunk"],
): Promise<ModelContent> {
  const decoder = new TextDecoder();
  const texts: string[] = [];
  const chunks: Json[] = [];
  let length = 0;
  const pass = async (chunk: Json) => {
    signal.throwIfAborted();
    if (typeof chunk === "string") texts.push(chunk);
    else chunks.push(chunk);
    length += typeof chunk === "string" ? chunk.length : JSON.stringify(chunk).length;
    if (length > valueLimits.bytes)
      throw new FaultError(
        fault("LIMIT_EXCEEDED", `the answer of the model is longer than ${valueLimits.bytes} bytes`),
      );
    await onChunk?.(chunk);
  };
  for await (const chunk of untilAbort(stream, signal)) {
    if (typeof chunk === "string") await pass(chunk);
    else if (chunk instanceof Uint8Array) await passText(decoder.decode(chunk, { stream: true }), pass);
    else await pass(readJson(chunk));
  }
  await passText(decoder.decode(), pass);
  signal.throwIfAborted();
  if (chunks.length === 0) return { form: "text", text: texts.join("") };
  if (texts.length === 0) return { form: "chunks", chunks };
  throw new FaultError(fault("SCHEMA_VALIDATION_FAILED", "the stream of the model mixes texts and other chunks"));
}

/** Yields the chunks of a stream. Ends the stream when the signal aborts, also while no chunk comes. */
async function* untilAbort(stream: AsyncIterable<unknown>, signal: AbortSignal): AsyncIterable<unknown> {
  const iterator = stream[Symbol.asyncIterator]();
  const aborted = untilAborted(signal).then(() => null);
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), aborted]);
      if (next === null) throw signal.reason;
      if (next.done) return;
      yield next.value;
    }
  } finally {
    void Promise.resolve(iterator.return?.()).catch(() => {});
  }
}

async function passText(text: string, pass: (chunk: Json) => Promise<void>): Promise<void> {
  if (text !== "") await pass(text);
}

function toOutput(content: ModelContent, facts: ModelAnswerFacts, options: ReceiveOptions): ModelOutput {
  const said = options.readCalls?.(content).map(({ id, tool = null }) => ({ id: String(id), tool }));
  const calls = said ?? facts.calls;
  const final = said === undefined ? facts.final : said.length === 0;
  const bytes = contentLength(content);
  const shown = options.content === "omit" ? ({ form: "omitted" } as const) : content;
  return { ...shown, calls, final, answer_id: facts.answer_id, bytes };
}

/** Hands a recorded answer over as its stream was handed over before. */
export async function replayAnswer(content: ModelContent, onChunk: ReceiveOptions["onChunk"]): Promise<void> {
  if (onChunk === undefined || content.form === "json") return;
  if (content.form === "text") await onChunk(content.text);
  else for (const chunk of content.chunks) await onChunk(chunk);
}
