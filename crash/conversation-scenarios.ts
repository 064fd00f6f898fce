import type { CallAnswer } from "../src/core/run/call-answer.ts";
import type { JsonObject } from "../src/core/values/json.ts";
import type { AgentCall, OpenRun } from "../src/engine/api/open-run-api.ts";
import { closeSession } from "./agent-scenarios.ts";
import { type AgentStart, agentPrincipal, mailTool, personAna, type Scenario } from "./scenario.ts";
import { askTool } from "./scenario-tools.ts";

export const toAna = { did: "send", to: "ana@example.org" } as const;

/** A user who edits a message after a mail was sent. Every start asks the first version again. */
export const branchedScenario: Scenario = {
  about: "a mail, an edited message that is a branch, and the held mail of that branch, which is the same one",
  tools: (world) => [mailTool(world)],
  steps: [],
  acts: {},
  indirectEffects: [toAna],
  endStatuses: ["completed"],
  settlesAllDoubts: true,
  agent: async (start) => {
    for (const said of ["Write to Ana.", "Please write to Ana."]) {
      const id = `call_${process.pid}_${process.hrtime.bigint()}`;
      const messages: JsonObject[] = [{ role: "user", content: said }];
      const answer = await start.run.recordModelCall({ model: "m", messages }, () => {
        start.at("model.asked");
        const call = { id, type: "function", function: { name: start.named("mail.send"), arguments: "{}" } };
        return { choices: [{ message: { role: "assistant", tool_calls: [call] } }] };
      });
      const [call] = answer.calls;
      if (call !== undefined) await untilSent(start, start.run, sendTo(start, call.id));
    }
    await closeSession(start);
  },
};

/** A call that a sub-agent does, in a run of its own that the next start of its parent finds. */
export const delegatedScenario: Scenario = {
  about: "a call that a sub-agent does by sending a mail",
  tools: (world) => [askTool(world, "task", "reads"), mailTool(world)],
  steps: [],
  acts: {},
  indirectEffects: [toAna],
  endStatuses: ["completed"],
  settlesAllDoubts: true,
  agent: async (start) => {
    const { engine, run, named } = start;
    const task = { id: "toolu.3:a", tool: named("task"), input: { to: "a helper" } };
    for (let isDone = false; !isDone; ) {
      const answer = await run.callTool(task, {
        run: async (_, { run_id, step_id }) => {
          const parent = { runId: run_id, stepId: step_id };
          const open = { session: named("helper"), principal: agentPrincipal, parent, waitMs: 60_000 } as const;
          const helper = await engine.openRun(open);
          await untilSent(start, helper, sendTo(start, "inner"));
          await helper.close();
          return { sent: toAna.to };
        },
      });
      isDone = answer.status === "succeeded";
      if (!isDone) await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await closeSession(start);
  },
};

export function sendTo({ named }: AgentStart, id: string): AgentCall {
  return { id, tool: named("mail.send"), input: { to: toAna.to } };
}

/** Makes a call until it has succeeded. Acts as the person who says which earlier mail it is, and who settles doubts. */
export async function untilSent(start: AgentStart, run: OpenRun, call: AgentCall): Promise<void> {
  for (let answer = await run.callTool(call); answer.status !== "succeeded"; answer = await run.callTool(call))
    await decide(start, run, answer);
}

async function decide({ engine, worldLog }: AgentStart, run: OpenRun, answer: CallAnswer): Promise<void> {
  const result = await (await engine.run(run.run_id, { principal: personAna })).result();
  const doubts = Object.entries(result.steps).filter(([, { state }]) => state === "in_doubt");
  const isSent = worldLog.count(toAna.did, toAna.to) > 0;
  const as = isSent ? ({ as: "happened", output: { sent: toAna.to } } as const) : ({ as: "absent" } as const);
  for (const [step] of doubts) await engine.resolve(run.run_id, step, { principal: personAna, ...as });
  if (doubts.length > 0 || answer.status !== "held") return;
  const same = answer.gate.earlier?.find(({ step_id }) => result.steps[step_id]?.state === "succeeded");
  const how = same === undefined ? {} : { sameAs: same.step_id };
  await engine.approve(answer.gate.gate_id, { principal: personAna, ...how });
}
