import { callFunctions, declareFunctions, type ToolFunctions } from "../agents/call-functions.ts";
import type { CallDecision, FrameworkCall, FrameworkCallOptions, Governed } from "../agents/governed.ts";
import type { RecordedFetchOptions } from "../agents/recorded-fetch.ts";
import { type CallAnswer, modelText } from "../core/run/call-answer.ts";
import type { Json } from "../core/values/json.ts";
import type { PrincipalOptions } from "../engine/api/request-options.ts";
import { governRunnerTools } from "./runner-tools.ts";

/** The results of the calls of a message, as the next message of the user. */
export interface AnthropicResults {
  readonly role: "user";
  readonly content: AnthropicResult[];
}

export interface AnthropicResult {
  readonly type: "tool_result";
  readonly tool_use_id: string;
  readonly content: string;
  readonly is_error?: true;
}

/** A governed session for the SDK of Anthropic. */
export interface AnthropicAdapter extends Pick<Governed, "run" | "close"> {
  /** The option `fetch` of the client: the answers of the model are recorded, and given again after a crash. */
  fetch(options?: RecordedFetchOptions): typeof globalThis.fetch;
  /** Makes the calls of a message, and returns a list with the message of their results. Without calls it is empty. */
  results(message: unknown, options?: FrameworkCallOptions): Promise<AnthropicResults[]>;
  /** Governs the tools of `beta.messages.toolRunner`. */
  tools<Tools extends readonly object[]>(tools: Tools): Tools;
  /** Decides held calls for the person whom your program has authenticated. */
  decide(decision: CallDecision | readonly CallDecision[], options: PrincipalOptions): Promise<void>;
}

/** Makes a governed session usable by the SDK of Anthropic. `functions` run the calls of a loop that you write yourself. */
export function forAnthropic(governed: Governed, functions: ToolFunctions = {}): AnthropicAdapter {
  declareFunctions(governed, functions);
  governed.expectLibrary({ name: "@anthropic-ai/sdk", tested: ["0", "1"] }, "writ/anthropic");
  return {
    run: governed.run,
    close: (options) => governed.close(options),
    fetch: (options) => governed.fetch(options),
    results: async (message, options) => {
      const calls = readCalls(message);
      const answers = await callFunctions(governed, functions, calls, options);
      const content = answers.map((answer, at) => result(calls[at]?.id ?? "", answer));
      return content.length === 0 ? [] : [{ role: "user", content }];
    },
    tools: (tools) => governRunnerTools(governed, tools),
    decide: (decision, options) => governed.decide([decision].flat(), options),
  };
}

function result(tool_use_id: string, answer: CallAnswer): AnthropicResult {
  const { text, isError } = modelText(answer);
  return { type: "tool_result", tool_use_id, content: text, ...(isError && { is_error: true }) };
}

/** Returns the calls of a message of the model. The provider itself answers `server_tool_use`. */
function readCalls(message: unknown): readonly FrameworkCall[] {
  const { content } = (message ?? {}) as { readonly content?: unknown };
  const blocks = Array.isArray(content) ? (content as readonly Readonly<Record<string, Json>>[]) : [];
  return blocks.flatMap(({ type, id, name, input }) =>
    type === "tool_use" && typeof id === "string" && typeof name === "string" ? [{ id, tool: name, input }] : [],
  );
}
