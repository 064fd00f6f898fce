import { FaultError } from "../src/core/values/fault.ts";
import type { Json } from "../src/core/values/json.ts";
import { CallMatcher } from "../src/mcp/call-matcher.ts";
import { closeSession } from "./agent-scenarios.ts";
import { sendTo, toAna, untilSent } from "./conversation-scenarios.ts";
import { type AgentStart, agentPrincipal, mailTool, personAna, type Scenario } from "./scenario.ts";
import { askTool } from "./scenario-tools.ts";

const shared = {
  steps: [],
  acts: {},
  indirectEffects: [toAna],
  endStatuses: ["completed"],
  settlesAllDoubts: true,
} as const;

/** A session whose run is full after two calls. The calls of its earlier runs are found by their rows. */
export const segmentedScenario: Scenario = {
  ...shared,
  about: "a session of three runs: each is full after two calls, and the mail is sent in the second one",
  tools: (world) => [askTool(world, "page.ask", "reads"), mailTool(world)],
  segmentSteps: 2,
  agent: async (start) => {
    const { engine, named } = start;
    // After its close, a session that is opened again finds the calls of all its runs.
    const run = await engine.openRun({ session: named("long"), principal: agentPrincipal, waitMs: 60_000 });
    for (const id of ["1", "2", "3", "4", "5"]) {
      const ask = { id, tool: named("page.ask"), input: { to: "the page" } };
      if (id === "3") await untilSent(start, run, sendTo(start, id));
      else for (let isDone = false; !isDone; ) isDone = (await run.callTool(ask)).status === "succeeded";
    }
    await run.close();
    await closeSession(start);
  },
};

/** A client without call ids: an equal question is the same call until the answer was delivered. */
export const deliveredScenario: Scenario = {
  ...shared,
  about: "a mail for a client that repeats its question until it has the answer, which is then on record as delivered",
  tools: (world) => [mailTool(world)],
  agent: async (start) => {
    const { run, named, worldLog, at } = start;
    const calls = (await run.turns()).flatMap((turn) => turn.calls);
    const matcher = new CallMatcher(calls, () => false);
    if (!calls.some(({ delivered }) => delivered)) {
      const { input } = sendTo(start, "");
      const id = matcher.idFor(named("mail.send"), input as Json);
      await untilSent(start, run, sendTo(start, id));
      at("answer.sent");
      await run.markDelivered(id, { to: "editor" });
      worldLog.recordReport("step.delivered c1");
    }
    await closeSession(start);
  },
};

/** A session that is forgotten: its run is erased, and its mail is not sent again. */
export const forgottenScenario: Scenario = {
  ...shared,
  about: "a mail of another session, which is then forgotten",
  tools: (world) => [mailTool(world)],
  agent: async (start) => {
    const { engine, named } = start;
    const session = named("old");
    if ((await erasureOf(start, session)) === "unknown") {
      const old = await engine.openRun({ session, principal: agentPrincipal, waitMs: 60_000 });
      await untilSent(start, old, sendTo(start, "inner"));
    }
    while ((await erasureOf(start, session)) !== "done") {
      await engine.forget({ session, owner: agentPrincipal.id, principal: personAna, reason: "asked for" });
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    for (const { run_id } of await engine.runs({ principal: personAna, session }))
      if (await isReadable(start, run_id)) throw new Error(`run ${run_id} of the forgotten session can be read`);
    await closeSession(start);
  },
};

async function isReadable({ engine }: AgentStart, runId: string): Promise<boolean> {
  try {
    const run = await engine.run(runId, { principal: personAna });
    for await (const _ of run.events()) return true;
    return false;
  } catch (error) {
    if (error instanceof FaultError && error.fault.code === "RUN_NOT_FOUND") return false;
    throw error;
  }
}

/** Returns how far the erasure of the session is on record. */
async function erasureOf({ engine }: AgentStart, session: string): Promise<"unknown" | "begun" | "done"> {
  const own = (await engine.retentions({ principal: personAna })).filter(
    (record) => record.session?.session === session,
  );
  if (own.length === 0) return "unknown";
  return own.some(({ erased }) => erased !== null && erased.waiting === 0) ? "done" : "begun";
}
