import type { ToolContext } from "../../src/core/tool/tool.ts";
import { type SessionContext, simAgent } from "./session-context.ts";
import type { SessionProcess } from "./session-process.ts";

/** Does a call by a sub-agent: a session below the call, which sends, or leaves that to a sub-agent of its own. */
export async function runSubAgent(
  sim: SessionContext,
  process: SessionProcess,
  session: string,
  goal: string,
  { run_id, step_id }: ToolContext,
): Promise<{ readonly of: string }> {
  const parent = { runId: run_id, stepId: step_id };
  const open = { session: `${session}.${step_id}`, principal: simAgent, parent, waitMs: 2000 } as const;
  sim.counts.subAgents += 1;
  const helper = await process.engine?.openRun(open);
  const of = `${goal}.inner`;
  // The same at every start: some sub-agents are two levels below their root session.
  const isDeeper = goal.endsWith(".1");
  const call = { id: "inner", tool: isDeeper ? "task" : "send", input: { of } };
  const answer = await helper?.callTool(call, {
    waitMs: 15_000,
    ...(isDeeper && { run: (_, context) => runSubAgent(sim, process, `${session}/deeper`, of, context) }),
  });
  if (answer?.status === "held") throw new Error("the call of the sub-agent is held");
  await helper?.close();
  return { of: goal };
}
