import type { ToolTerms } from "../agents/declared-effects.ts";
import { isJsonObject, type Json } from "../core/values/json.ts";

/** The tools of Claude Code that only read, plan, or start sub-agents, whose own calls are judged one by one. */
const reading: ReadonlySet<string> = new Set([
  ...["Read", "Glob", "Grep", "LS", "NotebookRead", "WebFetch", "WebSearch", "LSP", "ToolSearch"],
  ...["Agent", "Task", "TaskOutput", "TaskGet", "TaskList", "TaskCreate", "TaskUpdate", "BashOutput", "TodoWrite"],
  ...["ListMcpResourcesTool", "ReadMcpResourceTool", "AskUserQuestion", "Skill", "StructuredOutput"],
  ...["EnterPlanMode", "ExitPlanMode"],
]);

/** The tools of Claude Code that change files or start programs. */
const acting: ReadonlySet<string> = new Set(["Bash", "Write", "Edit", "MultiEdit", "NotebookEdit", "PowerShell"]);

/** Returns the terms of a tool of Claude Code itself, or null for any other tool. */
export function builtInTerms(tool: string): ToolTerms | null {
  if (reading.has(tool)) return { effect: "reads" };
  return acting.has(tool) ? { effect: "acts" } : null;
}

/** True if the tool can change files of the working tree. A tool that Writ does not know may. */
export function mayChangeFiles(tool: string): boolean {
  return !reading.has(tool) && !tool.startsWith("mcp__");
}

const MINUTE_MS = 60_000;

/** How long Claude Code may take for a call. It ends a command after its own timeout, two minutes if none is given. */
export function timeLimitMs(tool: string, input: Json): number {
  if (tool !== "Bash") return tool === "Agent" || tool === "Task" ? 24 * 60 * MINUTE_MS : 10 * MINUTE_MS;
  const { timeout } = isJsonObject(input) ? input : {};
  const given = typeof timeout === "number" && timeout > 0 ? Math.min(Math.ceil(timeout), 60 * MINUTE_MS) : 0;
  return Math.max(given, 2 * MINUTE_MS) + MINUTE_MS;
}
