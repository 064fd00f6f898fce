import { parseArguments } from "../agents/call-functions.ts";
import type { Governed } from "../agents/governed.ts";
import { modelText } from "../core/run/call-answer.ts";

/** A tool of `runTools`, as far as the adapter reads it. */
interface RunnableTool {
  readonly type?: unknown;
  readonly function?: RunnableFunction;
}

interface RunnableFunction {
  readonly name?: string;
  readonly description?: unknown;
  readonly function?: unknown;
  readonly parse?: unknown;
}

/** The runner of `runTools`, as far as the adapter reads it. */
interface Runner {
  readonly messages: readonly ChatMessage[];
  readonly controller?: { readonly signal?: AbortSignal };
}

interface ChatMessage {
  readonly role?: unknown;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function?: { readonly name: string; readonly arguments: string };
  }[];
}

type Run = (args: unknown, runner: Runner, ...more: readonly unknown[]) => unknown;

/** Governs the tools of `chat.completions.runTools`. The runner passes no call id, so it is found in its messages. */
export function governRunnableTools<Tools extends readonly object[]>(governed: Governed, tools: Tools): Tools {
  const read = tools as readonly RunnableTool[];
  governed.declare(
    read.map((tool, at) => ({
      name: nameOf(tool) ?? `${String(tool.type)} ${at + 1}`,
      ...(typeof tool.function?.description === "string" && { description: tool.function.description }),
      outside: nameOf(tool) === undefined,
    })),
  );
  const ids = new CallIds();
  return read.map((tool) => governedTool(governed, tool, ids)) as unknown as Tools;
}

function nameOf({ function: own }: RunnableTool): string | undefined {
  return typeof own?.function === "function" ? (own.name ?? own.function.name) : undefined;
}

function governedTool(governed: Governed, tool: RunnableTool, ids: CallIds): RunnableTool {
  const name = nameOf(tool);
  const own = tool.function;
  if (name === undefined || own === undefined) return tool;
  const { parse } = own;
  const run = own.function as Run;
  return {
    ...tool,
    function: {
      ...own,
      name,
      ...(typeof parse === "function" && {
        parse: async (text: string) => ids.remember(await parse.call(own, text), text),
      }),
      function: async (args: unknown, runner: Runner, ...more: readonly unknown[]) => {
        const { id, turn } = ids.take(name, args, runner);
        const signal = runner.controller?.signal;
        const answer = await governed.call(
          { id, tool: name, input: typeof parse === "function" ? args : parseArguments(args), turn },
          (input) => run.call(own, typeof parse === "function" ? input : args, runner, ...more),
          signal === undefined ? {} : { signal },
        );
        return answer.status === "succeeded" ? answer.output : modelText(answer).text;
      },
    },
  };
}

/** Finds the ids of calls in the messages of a runner: by the tool and the arguments, each id once. */
class CallIds {
  readonly #texts = new WeakMap<object, string>();
  readonly #taken = new WeakMap<object, Set<string>>();

  /** Keeps the text that was parsed to this object. */
  remember<Parsed>(parsed: Parsed, text: string): Parsed {
    if (typeof parsed === "object" && parsed !== null) this.#texts.set(parsed, text);
    return parsed;
  }

  take(tool: string, args: unknown, { messages }: Runner): { readonly id: string; readonly turn: number } {
    const at = messages.findLastIndex(({ role, tool_calls = [] }) => role === "assistant" && tool_calls.length > 0);
    const message = messages[at];
    if (message === undefined) throw new Error("the runner has no message with this call");
    const text = typeof args === "object" && args !== null ? this.#texts.get(args) : args;
    const taken = this.#taken.get(message) ?? new Set();
    this.#taken.set(message, taken);
    const calls = (message.tool_calls ?? []).filter(({ function: own }) => own?.name === tool);
    const same = calls.filter((call) => call.function?.arguments === text);
    // A model that repeats an id gets the answer of the call that it names.
    const found = [...same, ...calls].find(({ id }) => !taken.has(id)) ?? same[0];
    if (found === undefined) throw new Error(`the last answer of the model has no call of ${tool}`);
    taken.add(found.id);
    return { id: found.id, turn: messages.slice(0, at).filter(({ role }) => role === "assistant").length };
  }
}
