import type { Event } from "../src/core/event/event.ts";
import type { ToolContext } from "../src/core/tool/tool.ts";
import { verifyAsPerson } from "./person-actions.ts";
import {
  type MailInput,
  mailTool,
  personAna,
  type Scenario,
  type ScenarioRun,
  type ScenarioWorld,
  sendLoggedMail,
  verifyMail,
} from "./scenario.ts";
import { snapshotScenario } from "./snapshot-scenario.ts";

const toAna = { did: "send", to: "ana@example.org" } as const;
const sendToAna = { step_id: "send", name: "mail.send", payload: { to: toAna.to } } as const;
const settling = { timeoutMs: 150, settleAfter: 30 } as const;

const sending = {
  tools: (world) => [mailTool(world, { verify: verifyMail(world), ...settling })],
  steps: [sendToAna],
  acts: { send: toAna },
  endStatuses: ["completed"],
  settlesAllDoubts: true,
} as const satisfies Partial<Scenario>;

const supplied: Scenario = {
  ...sending,
  about: "an act that waits for a value, which a person supplies at its gate",
  tools: (world) => [mailTool(world, { asksFor: { to: "the address" }, verify: verifyMail(world), ...settling })],
  steps: [{ ...sendToAna, payload: {} }],
  data: { "/to": toAna.to },
};

const mailed = { type: "mail", id: "m1", operation: "sent", ref: toAna.to } as const;

function sendAndReport(world: ScenarioWorld) {
  return async (mail: MailInput, { key, changed }: ToolContext) => {
    const sent = await sendLoggedMail(world, mail, key);
    changed(mailed);
    return sent;
  };
}

/** Has the changes verified. Throws if the event of the act does not contain its change. */
async function verifyChanges(recovered: ScenarioRun): Promise<boolean> {
  const { engine, result } = recovered;
  if (!result.final) return false;
  const events: Event[] = [];
  for await (const { event } of (await engine.run(result.run_id, { principal: personAna })).events())
    events.push(event);
  const done = events.find((event) => event.type === "step.succeeded" && event.step_id === "send");
  // An act that a verifier found was made by a process that died before it could record a change.
  if (done?.type === "step.succeeded" && JSON.stringify(done.changes) !== JSON.stringify([mailed]))
    throw new Error(`the act has the changes ${JSON.stringify(done.changes)}`);
  return verifyAsPerson(recovered);
}

const changed: Scenario = {
  ...sending,
  about: "an act that records a change outside, which a person has verified",
  tools: (world) => [
    mailTool(world, {
      run: sendAndReport(world),
      verify: verifyMail(world),
      verifyChange: () => ({ saw: world.worldLog.count("send", toAna.to) > 0 ? "happened" : "absent" }),
      ...settling,
    }),
  ],
  person: verifyChanges,
};

/** Submits a dry run of another mail. A process that dies in between leaves no record of it, so it is repeated. */
async function submitDryRun({ engine, result }: ScenarioRun): Promise<boolean> {
  if (!result.final) return false;
  const plan = { steps: [{ step_id: "send", name: "rehearsed.mail.send", payload: { to: "robin@example.org" } }] };
  const run = await engine.submit(plan, { principal: personAna, mode: "dry_run" });
  const { simulation, status } = await run.result();
  if (simulation?.steps.send === undefined) throw new Error(`the dry run is ${status} and has no report`);
  for (const { run_id } of await engine.runs({ principal: personAna, limit: 500 })) {
    const { final, simulation: found } = await (await engine.run(run_id, { principal: personAna })).result();
    if (found !== undefined && !final) throw new Error(`the dry run ${run_id} is on record and has not ended`);
  }
  return false;
}

const rehearsed: Scenario = {
  ...sending,
  about: "an act, and a dry run of another act, which a person submits",
  person: submitDryRun,
};

/** Snapshots, data that people supply, changes outside and dry runs. */
export const recordScenarios = { snapshot: snapshotScenario, supplied, changed, rehearsed } as const;
