import { FaultError } from "../src/core/values/fault.ts";
import type { Engine } from "../src/engine/api/engine-api.ts";
import { personAna, type ScenarioRun } from "./scenario.ts";
import { readWorldEntries } from "./world-log.ts";

const personBob = { ...personAna, id: "bob" };

/** A use of a verb that a policy holds, and the check of its execution. */
export interface HeldRequest {
  /** The name of the verb in the rule that holds it. */
  readonly verb: string;
  use(recovered: ScenarioRun): Promise<unknown>;
  /** Returns the executions that are on record. There must be one. */
  executions(recovered: ScenarioRun, heldIn: string): Promise<readonly unknown[]>;
}

/**
 * Requests the use of a verb as one person and approves it as another, who may both have died before. The use must be on
 * record once, and whole.
 */
export async function requestWithApproval(recovered: ScenarioRun, request: HeldRequest): Promise<boolean> {
  const { engine, result, worldLog } = recovered;
  if (!result.final) return false;
  const { verb } = request;
  const held = readWorldEntries(worldLog.path).find(({ did }) => did === `held ${verb}`);
  const run_id = held?.to ?? (await requestUse(recovered, request));
  if (held === undefined) worldLog.append({ did: `held ${verb}`, to: run_id });
  const run = await engine.run(run_id, { principal: personAna });
  for (const { gate_id } of (await run.now()).gates) await engine.approve(gate_id, { principal: personBob });
  const { status, steps } = await run.finished();
  const made = await request.executions(recovered, run_id);
  if (status !== "completed" || made.length !== 1)
    throw new Error(`the request is ${status}: ${JSON.stringify(steps)}; its executions are ${JSON.stringify(made)}`);
  if (worldLog.count(verb, "once") === 0) worldLog.append({ did: verb, to: "once" });
  return false;
}

/** Returns the run of the request, which a policy holds. A request that waits is found again. */
async function requestUse(recovered: ScenarioRun, { verb, use }: HeldRequest): Promise<string> {
  const rules = [{ id: "ask", kind: "approval", on: { tools: [verb] } }];
  const policy = { schema_version: "1.0", name: `ask-${verb}`, scope: { tenant: personAna.tenant }, rules };
  await recovered.engine.policies.set(policy, { principal: personAna });
  try {
    await use(recovered);
  } catch (error) {
    if (error instanceof FaultError && error.fault.code === "HELD_FOR_APPROVAL")
      return (error.fault.detail as { readonly run_id: string }).run_id;
    throw error;
  }
  throw new Error(`${verb} was not held`);
}

/** Returns the events of a run that a held request has caused. */
export async function requestedEventTypes(engine: Engine, run_id: string, heldIn: string): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { event } of (await engine.run(run_id, { principal: personAna })).events())
    if ("held_in" in event && event.held_in === heldIn) found.push(event.type);
  return found;
}
