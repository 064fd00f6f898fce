import type { Json } from "../values/json.ts";

/** The content of a model's answer: JSON, or a stream that is recorded whole, as text or as a list of JSON chunks. */
export type ModelContent =
  | { readonly form: "json"; readonly json: Json }
  | { readonly form: "text"; readonly text: string }
  | { readonly form: "chunks"; readonly chunks: readonly Json[] };

/** A call of a tool that a model's answer contains. */
export interface ModelToolCall {
  readonly id: string;
  /** Null: the part of the answer with the id has no tool name. */
  readonly tool: string | null;
}

/** The tokens and the model that an answer reports. */
export interface ModelUsage {
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly model: string;
}

/** The output of a model call, as it is recorded. */
export type ModelOutput = ModelOutputFacts & (ModelContent | { readonly form: AbsentContent });

interface ModelOutputFacts {
  readonly calls: readonly ModelToolCall[];
  /** True: the answer contains no calls, so it ends a turn. */
  readonly final: boolean;
  /** The id that the provider gave the answer. A later request can refer to it. */
  readonly answer_id: string | null;
  /** The length of the content as JSON text. */
  readonly bytes: number;
}

/** `omitted`: the content was not recorded. `stored`: it is in the journal; the folded run has no contents. */
type AbsentContent = "omitted" | "stored";

/** Returns the approximate length of a content as JSON text. */
export function contentLength(content: ModelContent): number {
  return content.form === "text" ? content.text.length : JSON.stringify(content).length;
}

/** Returns the content that an output has, or null if it has none. */
export function contentOf(output: ModelOutput): ModelContent | null {
  switch (output.form) {
    case "json":
      return { form: "json", json: output.json };
    case "text":
      return { form: "text", text: output.text };
    case "chunks":
      return { form: "chunks", chunks: output.chunks };
    default:
      return null;
  }
}
