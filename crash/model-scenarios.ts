import type { ModelToolCall } from "../src/core/model/model-content.ts";
import type { JsonObject } from "../src/core/values/json.ts";
import type { ModelAnswer } from "../src/engine/api/model-api.ts";
import { closeSession } from "./agent-scenarios.ts";
import { type AgentStart, mailTool, personAna, resolveByLooking, type Scenario } from "./scenario.ts";

const toAna = { did: "send", to: "ana@example.org" } as const;
const firstQuestion = { did: "model", to: "1 messages" } as const;
const secondQuestion = { did: "model", to: "3 messages" } as const;

/** A loop over a model that answers with other ids and other words every time it is asked. */
export const modelScenario: Scenario = loopScenario("whole answers", async (answer) => answer);

/** The same loop over streamed answers. */
export const streamScenario: Scenario = loopScenario("streamed answers", async (answer, at) => streamed(answer, at));

function loopScenario(what: string, deliver: (answer: JsonObject, at: AgentStart["at"]) => Promise<unknown>): Scenario {
  return {
    about: `a loop over a model with ${what}, which are recorded and replayed, and a mail that one of them asks for`,
    tools: (world) => [mailTool(world)],
    steps: [],
    acts: { c2: toAna },
    calls: [firstQuestion, secondQuestion],
    endStatuses: ["completed"],
    settlesAllDoubts: true,
    agent: async (start) => {
      const messages: JsonObject[] = [{ role: "user", content: "Write to Ana." }];
      for (let isFinal = false; !isFinal; ) {
        const answer = await ask(start, messages, deliver);
        isFinal = answer.final;
        for (const call of answer.calls) await send(start, call, messages);
      }
      await closeSession(start);
    },
  };
}

/** Asks the model. Its ids are never the same, so that only the record can tell a repeated call. */
function ask(
  { run, worldLog, named, at }: AgentStart,
  messages: readonly JsonObject[],
  deliver: (answer: JsonObject, at: AgentStart["at"]) => Promise<unknown>,
): Promise<ModelAnswer> {
  return run.recordModelCall({ model: "m", messages: [...messages] }, async () => {
    worldLog.append({ did: firstQuestion.did, to: `${messages.length} messages` });
    at("model.asked");
    const id = `call_${process.pid}_${process.hrtime.bigint()}`;
    const call = { id, type: "function", function: { name: named("mail.send"), arguments: "{}" } };
    const message = messages.length === 1 ? { role: "assistant", tool_calls: [call] } : { content: `Done, ${id}.` };
    return deliver({ choices: [{ message }] }, at);
  });
}

async function* streamed({ choices }: JsonObject, at: AgentStart["at"]): AsyncIterable<string> {
  const [{ message } = { message: {} }] = choices as readonly { readonly message: JsonObject }[];
  yield `data: ${JSON.stringify({ choices: [{ delta: message }] })}\n\n`;
  at("model.chunk");
  yield `data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`;
}

/** Sends the mail, and acts as the person who settles its doubt, or says that it is the mail of an earlier start. */
async function send(start: AgentStart, { id }: ModelToolCall, messages: JsonObject[]): Promise<void> {
  const { engine, run, worldLog, named } = start;
  const use = { id, tool: named("mail.send"), input: { to: toAna.to } };
  for (let answer = await run.callTool(use); ; answer = await run.callTool(use)) {
    if (answer.status === "succeeded") {
      const call = { id, type: "function", function: { name: use.tool, arguments: "{}" } };
      messages.push({ role: "assistant", tool_calls: [call] });
      messages.push({ role: "tool", tool_call_id: id, content: JSON.stringify(answer.output) });
      return;
    }
    if (answer.status === "held") {
      const sameAs = answer.gate.earlier?.[0]?.step_id ?? "";
      await engine.approve(answer.gate.gate_id, { principal: personAna, sameAs });
    } else {
      const result = await (await engine.run(run.run_id, { principal: personAna })).result();
      await resolveByLooking({ engine, worldLog, result, retry: async () => {} }, { c2: toAna });
    }
  }
}
