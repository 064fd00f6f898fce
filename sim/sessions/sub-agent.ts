import type { ToolContext } from "../../src/core/tool/tool.ts";
import { type SessionContext, simAgent } from "./session-context.ts";
import type { SessionProcess } from "./session-process.ts";

/** Does a call by a sub-agent: a session below the call, which makes a call of its own. */
export async function runSubAgent(
  { config, counts }: SessionContext,
  { engine }: SessionProcess,
  session: string,
  goal: string,
  { run_id, step_id }: ToolContext,
): Promise<{ readonly of: string }> {
  const parent = { runId: run_id, stepId: step_id };
  const open = { session: `${session}.${step_id}`, principal: simAgent, parent, waitMs: 2000 } as const;
  counts.subAgents += 1;
  const helper = await engine?.openRun(open);
  // A branch above does not know the acts of the sub-agents that it leaves.
  const tool = config.branches ? "look" : "send";
  const call = { id: "inner", tool, input: { of: `${goal}.inner` } };
  const answer = await helper?.callTool(call, { waitMs: 15_000 });
  if (answer?.status === "held") throw new Error("the call of the sub-agent is held");
  await helper?.close();
  return { of: goal };
}
