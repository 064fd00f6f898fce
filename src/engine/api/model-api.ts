import type { ModelContent, ModelToolCall } from "../../core/model/model-content.ts";
import type { Cost } from "../../core/tool/tool.ts";
import type { StepId } from "../../core/values/ids.ts";
import type { Json, JsonObject } from "../../core/values/json.ts";

/** The context of a function that asks a model. */
export interface ModelContext {
  /** Aborts when the caller stops waiting, the time is over or the run is closed. Pass it to the request. */
  readonly signal: AbortSignal;
  readonly step_id: StepId;
  /** From 1; a request that failed is asked again as the next attempt. */
  readonly attempt: number;
  /** The W3C trace context of this attempt. Pass it on as the header `traceparent`. */
  readonly traceparent: string;
  /** Adds to the cost of the attempt. Without it, the tokens that the answer reports are its cost. */
  cost(spent: Partial<Cost>): void;
}

/**
 * Makes the real request. Returns the answer as JSON, or a stream of texts, bytes or JSON values: an async iterable or a
 * ReadableStream. A rejection is a failed attempt.
 */
export type AskModel = (context: ModelContext) => unknown;

export interface ModelCallOptions {
  /** Requests of one lane follow each other. A title or a summary has a lane of its own. Default: main. */
  readonly lane?: string;
  /** Returns the request without what changes from start to start, such as a clock. Equal results are equal requests. */
  readonly normalize?: (request: JsonObject) => JsonObject;
  /** Receives the stream while it comes. A recorded stream is handed over again: text in one piece, JSON chunk by chunk. */
  readonly onChunk?: (chunk: Json) => unknown;
  /** Says which tool calls an answer contains, where its shape is not known. */
  readonly readCalls?: (content: ModelContent) => readonly { readonly id: string; readonly tool?: string }[];
  /** The messages replace the whole history before them. Without this, another history is a branch. */
  readonly compacted?: boolean;
  /** JSON pointers to fields of the request that are recorded as digests. */
  readonly redact?: readonly string[];
  /** omit: neither messages nor answer are recorded, so the request is asked again after a crash. Default: record. */
  readonly content?: "record" | "omit";
  /** Ends the wait and aborts the request. */
  readonly signal?: AbortSignal;
  /** Default: 10 minutes. */
  readonly timeoutMs?: number;
  /** How long to wait for a person if a policy holds the request. Default: 0. */
  readonly waitMs?: number;
}

/** The answer of a model. */
export interface ModelAnswer {
  readonly step_id: StepId;
  readonly content: ModelContent;
  /** The tool calls that the answer contains. `callTool` knows their turn by these ids. */
  readonly calls: readonly ModelToolCall[];
  /** True: the answer contains no tool calls, so it ends the turn. */
  readonly final: boolean;
  /** True: the answer was on record, and the model was not asked. */
  readonly replayed: boolean;
}
