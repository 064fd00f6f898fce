import { callFunctions, declareFunctions, type ToolFunctions } from "../agents/call-functions.ts";
import type { CallDecision, FrameworkCallOptions, Governed } from "../agents/governed.ts";
import type { RecordedFetchOptions } from "../agents/recorded-fetch.ts";
import type { PrincipalOptions } from "../engine/api/request-options.ts";
import { type OpenAiResult, readOpenAiCalls } from "./openai-calls.ts";
import { governRunnableTools } from "./runnable-tools.ts";

/** A governed session for the SDK of OpenAI and for every compatible provider. */
export interface OpenAiAdapter extends Pick<Governed, "run" | "close"> {
  /** The option `fetch` of the client: the answers of the model are recorded, and given again after a crash. */
  fetch(options?: RecordedFetchOptions): typeof globalThis.fetch;
  /**
   * Makes the calls of an answer and returns their results for the next request. Takes a message of the chat, a
   * completion, a response, or the items of a response. An answer without calls has no results.
   */
  results(answer: unknown, options?: FrameworkCallOptions): Promise<OpenAiResult[]>;
  /** Governs the tools of `chat.completions.runTools`. */
  tools<Tools extends readonly object[]>(tools: Tools): Tools;
  /** Decides held calls for the person whom your program has authenticated. */
  decide(decision: CallDecision | readonly CallDecision[], options: PrincipalOptions): Promise<void>;
}

/** Makes a governed session usable by the SDK of OpenAI. `functions` run the calls of a loop that you write yourself. */
export function forOpenAI(governed: Governed, functions: ToolFunctions = {}): OpenAiAdapter {
  declareFunctions(governed, functions);
  governed.expectLibrary({ name: "openai", tested: ["6", "7"] }, "writ/openai");
  return {
    run: governed.run,
    close: (options) => governed.close(options),
    fetch: (options) => governed.fetch(options),
    results: async (answer, options) => {
      const calls = readOpenAiCalls(answer);
      const made = calls.map(({ call }) => call);
      const answers = await callFunctions(governed, functions, made, options);
      return calls.flatMap(({ result }, at) => (answers[at] === undefined ? [] : [result(answers[at])]));
    },
    tools: (tools) => governRunnableTools(governed, tools),
    decide: (decision, options) => governed.decide([decision].flat(), options),
  };
}
