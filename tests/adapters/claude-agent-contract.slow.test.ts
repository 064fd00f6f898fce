import { describe, it } from "vitest";
import { adapterContract } from "../../src/testing.ts";
import { claudeSdkFolder } from "../repo/claude-sdk-folder.ts";
import { claudeAgentTools } from "./contract/claude-agent-programs.ts";

if (claudeSdkFolder === null)
  process.stderr.write(
    "\nSKIPPED: the adapter contract for the Claude Agent SDK (414 MB). Install @anthropic-ai/claude-agent-sdk@0.3.325 in a folder, and name the folder in WRIT_CLAUDE_AGENT_SDK.\n\n",
  );

describe.skipIf(claudeSdkFolder === null)("the adapter contract: Claude Agent SDK", () => {
  it.each(adapterContract(claudeAgentTools))("$title", ({ check }) => check());
});
