import type { Tool } from "../../core/tool/tool.ts";
import type { Effect } from "../../core/values/effect.ts";
import type { Json } from "../../core/values/json.ts";
import type { ToolActivityOptions, ToolActivityReport } from "./activity-api.ts";
import type { PrincipalOptions } from "./request-options.ts";

/** A tool as its declaration describes it. */
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
  /** The guarantee that follows from the declaration, in words. */
  readonly guarantee: string;
  /** A caller needs one of these roles; empty: any caller. */
  readonly roles: readonly string[];
  readonly timeout_ms: number;
  /** The total number of attempts after a temporary fault. Null: that of the fault. */
  readonly tries: number | null;
  /** Whether an approver sees a prediction of the output. */
  readonly has_preview: boolean;
  /** Whether the tool can undo its act. */
  readonly can_undo: boolean;
  /** Whether the host of an agent does the work itself. */
  readonly external: boolean;
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
  /** Reports the calls of tools in the latest runs: how they ended, how long they took and what they cost. */
  activity(options: ToolActivityOptions): Promise<ToolActivityReport>;
}
