import type { CallAnswer } from "../core/run/call-answer.ts";
import type { ToolContext } from "../core/tool/tool.ts";
import { notDone } from "../core/values/fault.ts";
import type { Json } from "../core/values/json.ts";
import type { SchemaDefinition } from "../schema/schema-from.ts";
import type { FrameworkCall, FrameworkCallOptions, Governed } from "./governed.ts";

/** A function that runs the calls of one tool. */
export type ToolFunction = (input: never, context: ToolContext) => unknown;

/** A function with the schema of its input. A call with another input is refused, on record. */
export interface CheckedFunction {
  readonly input: SchemaDefinition;
  readonly run: ToolFunction;
}

/** The functions of a program that runs the calls of a model itself, by the name of the tool. */
export type ToolFunctions = Readonly<Record<string, ToolFunction | CheckedFunction>>;

/** Declares the functions as tools of the session. */
export function declareFunctions(governed: Governed, functions: ToolFunctions): void {
  governed.declare(
    Object.entries(functions).map(([name, own]) =>
      typeof own === "function" ? { name } : { name, checks: own.input },
    ),
  );
}

/** Makes the calls of one answer of a model side by side, and returns their answers in order. */
export function callFunctions(
  governed: Governed,
  functions: ToolFunctions,
  calls: readonly FrameworkCall[],
  options: FrameworkCallOptions = {},
): Promise<readonly CallAnswer[]> {
  return Promise.all(
    calls.map((call) =>
      governed.call(
        call,
        (input, context) => {
          const own = Object.hasOwn(functions, call.tool) ? functions[call.tool] : undefined;
          if (own === undefined) throw notDone("TOOL_UNKNOWN", `this program has no function for ${call.tool}`);
          return typeof own === "function" ? own(input as never, context) : own.run(input as never, context);
        },
        options,
      ),
    ),
  );
}

/** Parses the arguments that a model wrote. Text that is no JSON stays text: the call is refused, on record. */
export function parseArguments(text: unknown): unknown {
  if (typeof text !== "string") return text ?? {};
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
