import { FaultError } from "../src/core/values/fault.ts";
import type { Engine } from "../src/engine/api/engine-api.ts";
import { personAna, type Scenario, type ScenarioRun } from "./scenario.ts";
import { readWorldEntries } from "./world-log.ts";

const personBob = { ...personAna, id: "bob" };
const reason = "held for a person";
const policy = {
  schema_version: "1.0",
  name: "retentions",
  scope: { tenant: personAna.tenant },
  rules: [{ id: "ask", kind: "approval", on: { tools: ["retain"] } }],
};

export const heldRetention: Scenario = {
  about: "a retention that a policy holds, requested by one person and approved by another",
  tools: () => [],
  steps: [{ step_id: "pause", kind: "wait", payload: { ms: 1 } }],
  acts: {},
  indirectEffects: [{ did: "retained", to: "once" }],
  endStatuses: ["completed"],
  settlesAllDoubts: true,
  person: retainWithApproval,
};

/**
 * Requests a retention as one person and approves it as another, who may both have died before. The retention must be on
 * record once, and whole.
 */
async function retainWithApproval({ engine, result, worldLog }: ScenarioRun): Promise<boolean> {
  if (!result.final) return false;
  const held = readWorldEntries(worldLog.path).find(({ did }) => did === "held");
  const run_id = held?.to ?? (await requestRetention(engine));
  if (held === undefined) worldLog.append({ did: "held", to: run_id });
  const run = await engine.run(run_id, { principal: personAna });
  for (const { gate_id } of (await run.now()).gates) await engine.approve(gate_id, { principal: personBob });
  const { status } = await run.finished();
  const made = (await engine.retentions({ principal: personAna })).filter((each) => each.reason === reason);
  if (status !== "completed" || made.length !== 1 || made[0]?.erased === null)
    throw new Error(`the request is ${status}, and its retentions are ${JSON.stringify(made)}`);
  if (worldLog.count("retained", "once") === 0) worldLog.append({ did: "retained", to: "once" });
  return false;
}

/** Returns the run of the request, which a policy holds. A request that waits is found again. */
async function requestRetention(engine: Engine): Promise<string> {
  await engine.policies.set(policy, { principal: personAna });
  try {
    await engine.retain({ principal: personAna, endedBefore: 1, reason });
  } catch (error) {
    if (error instanceof FaultError && error.fault.code === "HELD_FOR_APPROVAL")
      return (error.fault.detail as { readonly run_id: string }).run_id;
    throw error;
  }
  throw new Error("the retention was not held");
}
