import type { FrameworkTool } from "../agents/framework-tool.ts";
import { frameworkValue, isPendingOutput } from "../agents/framework-value.ts";
import type { FrameworkCall, FrameworkHandler, Governed } from "../agents/governed.ts";
import { jsonSchemaOf } from "../agents/json-schema-of.ts";
import { LiveQueue, lastValue } from "../agents/live-queue.ts";
import type { CallAnswer } from "../core/run/call-answer.ts";
import { FaultError } from "../core/values/fault.ts";
import { hasApprovalRequest, isReportedApproved, turnOf } from "./approval-messages.ts";

/** The options that the AI SDK passes to a tool, as far as the adapter reads them. */
export interface ExecuteOptions {
  readonly toolCallId: string;
  readonly messages?: readonly unknown[];
  readonly abortSignal?: AbortSignal;
}

/** A tool of the AI SDK, as far as the adapter reads it. */
export interface AiSdkTool {
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly execute?: unknown;
  readonly needsApproval?: unknown;
  readonly toModelOutput?: unknown;
}

type OfTool = (this: AiSdkTool, ...given: readonly unknown[]) => unknown;

/** Describes a tool for the record. Writ cannot govern a tool that the provider or the client executes. */
export function describeTool(name: string, { description, inputSchema, execute }: AiSdkTool): FrameworkTool {
  return {
    name,
    ...(typeof description === "string" && { description }),
    input: jsonSchemaOf(inputSchema),
    outside: typeof execute !== "function",
  };
}

/** A tool of the AI SDK whose calls are made by an open run. */
export class GovernedTool {
  readonly #governed: Governed;
  readonly #name: string;
  readonly #tool: AiSdkTool;

  constructor(governed: Governed, name: string, tool: AiSdkTool) {
    this.#governed = governed;
    this.#name = name;
    this.#tool = tool;
  }

  /** Returns the tool for the AI SDK: the same fields, with functions that pass each call through the run. */
  get forFramework(): AiSdkTool {
    const { execute, needsApproval, toModelOutput } = this.#tool;
    return {
      ...this.#tool,
      execute: isGenerator(execute)
        ? (input: unknown, options: ExecuteOptions) => this.#stream(input, options)
        : async (input: unknown, options: ExecuteOptions) => frameworkValue(await this.#call(input, options)),
      ...(this.#governed.hold === "return" && {
        needsApproval: async (input: unknown, options: ExecuteOptions) => {
          this.#governed.acceptArguments(options.toolCallId);
          return (await this.#ask(needsApproval, input, options)) || this.isHeld(input, options);
        },
      }),
      ...(typeof toModelOutput === "function" && {
        toModelOutput: (given: { readonly output?: unknown }) =>
          isPendingOutput(given.output)
            ? { type: "text", value: given.output.message }
            : toModelOutput.call(this.#tool, given),
      }),
    };
  }

  /** The answer of the tool itself to the question whether a call needs an approval. */
  async #ask(needsApproval: unknown, input: unknown, options: ExecuteOptions): Promise<boolean> {
    if (typeof needsApproval !== "function") return needsApproval === true;
    return Boolean(await (needsApproval as OfTool).call(this.#tool, input, options));
  }

  /**
   * True if the AI SDK has to ask for an approval. A call that it asked for before stays held for it: AI SDK 6 asks
   * again when the response has come, and takes "no" as a denial. The run decides when the call is executed.
   */
  async isHeld(input: unknown, options: ExecuteOptions): Promise<boolean> {
    if (hasApprovalRequest(options.messages, options.toolCallId)) return true;
    const effect = this.#governed.effectOf(this.#name);
    if (effect === "pure" || effect === "reads") return false;
    const answer = await this.#governed.judge(this.#callOf(input, options), this.#handler(options));
    return answer?.status === "held";
  }

  /** Makes the call. An approval that only the client reports confirms the call, and never approves it. */
  async #call(input: unknown, options: ExecuteOptions, handler = this.#handler(options)): Promise<CallAnswer> {
    const call = this.#callOf(input, options);
    const { abortSignal: signal } = options;
    const make = () => this.#governed.call(call, handler, signal === undefined ? {} : { signal });
    const answer = await make();
    if (answer.status !== "held" || !isReportedApproved(options.messages, options.toolCallId)) return answer;
    try {
      await this.#governed.confirm(call, "the client reports an approval (AI SDK)");
    } catch (error) {
      if (error instanceof FaultError) return answer;
      throw error;
    }
    return make();
  }

  #callOf(input: unknown, { toolCallId, messages }: ExecuteOptions): FrameworkCall {
    return { id: toolCallId, tool: this.#name, input, turn: turnOf(messages, toolCallId) };
  }

  /** Runs the tool itself. `push` receives the values of a generator while they come; the last one is the output. */
  #handler(options: ExecuteOptions, push: (value: unknown) => void = () => {}): FrameworkHandler {
    return (input, { signal }) => {
      const output = (this.#tool.execute as OfTool).call(this.#tool, input, { ...options, abortSignal: signal });
      return lastValue(output, push);
    };
  }

  async *#stream(input: unknown, options: ExecuteOptions): AsyncGenerator<unknown> {
    const queue = new LiveQueue<unknown>();
    const answer = this.#call(
      input,
      options,
      this.#handler(options, (value) => queue.push(value)),
    ).finally(() => queue.end());
    answer.catch(() => {}); // It is awaited below.
    yield* queue;
    yield frameworkValue(await answer);
  }
}

function isGenerator(execute: unknown): boolean {
  return typeof execute === "function" && execute.constructor.name === "AsyncGeneratorFunction";
}
