import type { Governed } from "../agents/governed.ts";
import { jsonSchemaOf } from "../agents/json-schema-of.ts";
import { modelText } from "../core/run/call-answer.ts";

/** A tool of `beta.messages.toolRunner`, as far as the adapter reads it. */
interface RunnableTool {
  readonly name?: unknown;
  readonly type?: unknown;
  readonly description?: unknown;
  readonly input_schema?: unknown;
  readonly run?: unknown;
}

/** The context that the runner passes to a tool. */
interface RunContext {
  readonly toolUse?: { readonly id: string };
  readonly toolUseBlock?: { readonly id: string };
  readonly signal?: AbortSignal | null;
}

type Run = (input: unknown, context?: RunContext) => unknown;

/** Governs the tools of the runner. The provider executes a tool without `run`. */
export function governRunnerTools<Tools extends readonly object[]>(governed: Governed, tools: Tools): Tools {
  const read = tools as readonly RunnableTool[];
  governed.declare(
    read.map((tool) => ({
      name: nameOf(tool),
      ...(typeof tool.description === "string" && { description: tool.description }),
      input: jsonSchemaOf({ jsonSchema: tool.input_schema }),
      outside: typeof tool.run !== "function",
    })),
  );
  return read.map((tool) => governedTool(governed, tool)) as unknown as Tools;
}

const nameOf = ({ name, type }: RunnableTool): string => String(name ?? type);

function governedTool(governed: Governed, tool: RunnableTool): RunnableTool {
  if (typeof tool.run !== "function") return tool;
  const run = tool.run as Run;
  return {
    ...tool,
    run: async (input: unknown, context?: RunContext) => {
      const id = context?.toolUse?.id ?? context?.toolUseBlock?.id;
      if (id === undefined)
        throw new Error("the runner passed no id of the call; @anthropic-ai/sdk 0.93 or later does");
      const signal = context?.signal ?? undefined;
      const answer = await governed.call(
        { id, tool: nameOf(tool), input },
        (given, { signal: ours }) => run.call(tool, given, { ...context, signal: ours }),
        signal === undefined ? {} : { signal },
      );
      if (answer.status === "succeeded") return answer.output;
      const { text, isError } = modelText(answer);
      if (isError) throw new Error(text);
      return text;
    },
  };
}
