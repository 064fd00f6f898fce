import { existsSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "./repository-path.ts";

export const claudeSdkName = "@anthropic-ai/claude-agent-sdk";
const folders = [process.env.WRIT_CLAUDE_AGENT_SDK, repositoryRoot].filter((folder) => folder !== undefined);

/** The folder whose `node_modules` has the Claude Agent SDK. Null: it is not installed, because it takes 414 MB. */
export const claudeSdkFolder: string | null =
  folders.find((folder) => existsSync(join(folder, "node_modules", claudeSdkName, "package.json"))) ?? null;

/** True if a program needs the Claude Agent SDK and it is not installed. Says so, because the program is not run. */
export function lacksClaudeSdk(program: string): boolean {
  if (claudeSdkFolder !== null || !program.includes(claudeSdkName)) return false;
  process.stderr.write(
    "\nSKIPPED: a program that needs the Claude Agent SDK (414 MB). Install @anthropic-ai/claude-agent-sdk@0.3.325 in a folder, and name the folder in WRIT_CLAUDE_AGENT_SDK.\n\n",
  );
  return true;
}
