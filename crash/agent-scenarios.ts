import type { OpenRun } from "../src/engine/api/open-run-api.ts";
import {
  type AgentStart,
  agentPrincipal,
  mailTool,
  personAna,
  resolveByLooking,
  type Scenario,
  type ScenarioStart,
  sendLoggedMail,
} from "./scenario.ts";
import { askTool } from "./scenario-tools.ts";
import { readWorldEntries, type WorldLog } from "./world-log.ts";

const toAna = { did: "send", to: "ana@example.org" } as const;

/** An agent that asks a page and sends a mail, which a person approves. */
export const sessionScenario: Scenario = {
  about: "calls of an open run: one reads, one acts after a person approved it, and the run is closed",
  mode: "human_gated",
  tools: (world) => [askTool(world, "page.ask", "reads"), mailTool(world)],
  steps: [],
  acts: { c2: toAna },
  calls: [{ did: "page.ask", to: "the page" }],
  endStatuses: ["completed"],
  settlesAllDoubts: true,
  agent: async (start) => {
    const { run, named } = start;
    const ask = { id: "toolu.1:a", tool: named("page.ask"), input: { to: "the page" } };
    const send = { id: "toolu.1:b", tool: named("mail.send"), input: { to: toAna.to } };
    await run.callTools([ask, send]);
    await untilSent(start, run, send.id);
    await closeSession(start);
  },
};

/** An agent whose host sends the mail itself, between the start and the report of the call. */
export const hostedScenario: Scenario = {
  about: "an act that the host of an agent does itself, between the recorded start and its report",
  tools: (world) => [mailTool(world)],
  steps: [],
  acts: { c1: toAna },
  endStatuses: ["completed"],
  settlesAllDoubts: true,
  agent: async (start) => {
    const { run, worldLog, named, at } = start;
    const send = { id: "toolu.2:a", tool: named("mail.send"), input: { to: toAna.to } };
    for (let isDone = false; !isDone; ) {
      const begun = await run.beginCall(send, { forMs: 300 });
      if ("go" in begun) {
        worldLog.append({ did: "token", to: begun.token });
        at("host.began");
        await finishWork(start, begun.token);
      } else {
        const token = storedToken(worldLog);
        if (token !== null && begun.status !== "succeeded") await finishWork(start, token);
      }
      isDone = await isSent(start, run, send.id);
    }
    await closeSession(start);
  },
};

/** Sends the mail if the world has none, and reports its end. A late report meets a doubt, or a call that was begun anew. */
async function finishWork({ run, worldLog, at }: AgentStart, token: string): Promise<void> {
  if (worldLog.count(toAna.did, toAna.to) === 0) await sendLoggedMail({ worldLog, at }, { to: toAna.to }, "");
  at("host.done");
  const answer = await run.endCall(token, { output: { sent: toAna.to } });
  if (answer.status === "succeeded") worldLog.recordReport(`succeeded ${token.split("/")[1]}`);
}

/** The host keeps the token of its work. */
function storedToken(worldLog: WorldLog): string | null {
  return readWorldEntries(worldLog.path).findLast(({ did }) => did === "token")?.to ?? null;
}

async function untilSent(start: AgentStart, run: OpenRun, id: string): Promise<void> {
  while (!(await isSent(start, run, id)));
}

/** Returns whether the call has succeeded. If not, acts as the person who approves it or settles its doubt. */
async function isSent({ engine, worldLog }: ScenarioStart, run: OpenRun, id: string): Promise<boolean> {
  const answer = await run.findCall(id);
  if (answer?.status === "succeeded") return true;
  if (answer?.status === "held") {
    const { gate_id } = answer.gate;
    await engine.approve(gate_id, { principal: personAna });
    worldLog.recordReport(`gate.approved ${gate_id}`);
    return false;
  }
  if (answer?.status === "in_doubt") {
    const result = await (await engine.run(run.run_id, { principal: personAna })).result();
    const retry = async () => {};
    await resolveByLooking({ engine, worldLog, result, retry }, { c1: toAna, c2: toAna });
    return false;
  }
  await new Promise((resolve) => setTimeout(resolve, 10));
  return false;
}

export async function closeSession({ run, worldLog }: AgentStart): Promise<void> {
  const { status } = await run.close();
  worldLog.recordReport(`run.ended ${status}`);
}

/** Returns the run of the session that its agent has closed, or null. An agent whose work is done opens no new run. */
export async function findClosedSession(
  { engine }: Pick<ScenarioStart, "engine">,
  session: string,
): Promise<string | null> {
  for (const { run_id, status } of await engine.runs({ principal: personAna, session, limit: 1000 })) {
    if (status === "open") continue;
    let isOfSession = false;
    for await (const { event } of (await engine.run(run_id, { principal: personAna })).events()) {
      if (event.type === "run.accepted") isOfSession = event.session === session && event.opened !== undefined;
      if (!isOfSession) break;
      if (event.type === "run.closed" && !event.continues) return run_id;
    }
  }
  return null;
}

/** Opens the session of a scenario. A process that was killed may hold it until its death is noticed. */
export function openAgentSession({ engine }: ScenarioStart, session: string, mode: Scenario["mode"]): Promise<OpenRun> {
  return engine.openRun({ session, principal: agentPrincipal, waitMs: 60_000, mode: mode ?? "auto_exec" });
}
