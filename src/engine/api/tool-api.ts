import type { Tool } from "../../core/tool/tool.ts";
import type { Effect } from "../../core/values/effect.ts";
import type { Json } from "../../core/values/json.ts";
import type { PrincipalOptions } from "./request-options.ts";

/** A tool as a model is shown it. */
export interface ToolView {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly effect: Effect;
  readonly risk: Tool["risk"];
  readonly tags: readonly string[];
  /** The JSON Schemas. */
  readonly input: Json;
  readonly output: Json;
}

export interface PutToolsOptions {
  /** refuse: if the engine has a tool of the same name, nothing is registered (TOOL_INVALID). Default: replace. */
  readonly ifKnown?: "replace" | "refuse";
}

/**
 * The tools of an engine. They are configuration of the program, like the option `tools`: `put` and `remove` have no
 * principal. A step keeps the tool that it was proposed with: if that one is removed or replaced, the step waits for a
 * process that has it.
 */
export interface EngineTools {
  /** Registers tools: all of them, or none. By default, a tool with the name of an earlier one replaces it. */
  put(tools: readonly Tool[], options?: PutToolsOptions): Promise<void>;
  /** Removes tools by their names: all of them, or none. Running calls end; no other call of theirs starts. */
  remove(names: readonly string[]): Promise<void>;
  /** Lists the tools that the capabilities and roles of the principal allow, in the order of their registration. */
  list(options: PrincipalOptions): Promise<readonly ToolView[]>;
}
