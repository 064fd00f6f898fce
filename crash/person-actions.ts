import { agentPrincipal, personAna, type ScenarioRun, type ScenarioStart } from "./scenario.ts";
import { advanceOneMinute } from "./scenario-clock.ts";

/** Throws if the call was made that a person replaced by another one. */
export async function assertNotSentToAna({ worldLog }: ScenarioRun): Promise<boolean> {
  if (worldLog.count("send", "ana@example.org") > 0) throw new Error("the call was made that a person had edited");
  return false;
}

export async function cancelAsPerson({ engine, result, worldLog }: ScenarioRun): Promise<boolean> {
  if (result.final) return false;
  await (await engine.run(result.run_id, { principal: personAna })).cancel({ reason: "no longer needed" });
  worldLog.recordReport("cancel.requested");
  return true;
}

/** Sends one signal under a fixed id, so that a repeated send has no second effect. */
export async function signalAsPerson({ engine, worldLog }: ScenarioStart, key: string): Promise<true> {
  await engine.signal(key, { paid: true }, { principal: personAna, id: "the one signal" });
  worldLog.recordReport("step.succeeded paid"); // The step now succeeds without further action.
  return true;
}

/** Sets a schedule for the next minute, and advances the clock past it. */
export async function setScheduleAsPerson({ engine, worldLog }: ScenarioStart): Promise<void> {
  if ((await engine.schedules.list({ principal: personAna })).length === 0) {
    const soon = new Date(Date.now() + 60_000);
    const cron = `${soon.getUTCMinutes()} ${soon.getUTCHours()} * * *`;
    const plan = { steps: [{ step_id: "send", name: "scheduled.mail.send", payload: { to: "ana@example.org" } }] };
    await engine.schedules.set("daily", plan, { principal: personAna, runAs: agentPrincipal, cron });
  }
  advanceOneMinute(worldLog);
}

export async function waitForSchedule({ engine }: ScenarioRun): Promise<boolean> {
  const [row] = await engine.schedules.list({ principal: personAna });
  const fired = row?.last?.run_id ?? null;
  if (fired !== null && (await (await engine.run(fired, { principal: personAna })).now()).final) return false;
  await new Promise((resolve) => setTimeout(resolve, 5)); // The start of a scheduled run is not announced.
  return true;
}

export async function releaseParkedRun({ engine, result, worldLog }: ScenarioRun): Promise<boolean> {
  if (result.poison === undefined) return false;
  worldLog.append({ did: "parked", to: `after ${result.poison.takeovers.length}` });
  await engine.resume(result.run_id, { principal: personAna, reason: "more memory is available" });
  worldLog.recordReport("run.resumed");
  return true;
}

export async function resumeAfterRepair({ engine, result, worldLog }: ScenarioRun): Promise<boolean> {
  if (result.steps.check?.state !== "failed_final") return false;
  if (worldLog.count("repair", "the server") === 0) worldLog.append({ did: "repair", to: "the server" });
  await engine.resume(result.run_id, { principal: personAna, reason: "the server is set up" });
  worldLog.recordReport("run.resumed");
  return true;
}

/** Removes the cause of the failure and submits the request again. */
export async function retryAfterRepair({ result, worldLog, retry }: ScenarioRun): Promise<boolean> {
  if (result.steps.check?.state !== "failed_final") return false;
  if (worldLog.count("repair", "the server") === 0) worldLog.append({ did: "repair", to: "the server" });
  await retry();
  worldLog.recordReport("run.resumed");
  return true;
}

/** The booking disappears from the outside world before the run is resumed. */
export async function resumeAfterLoss(recovered: ScenarioRun): Promise<boolean> {
  const { result, worldLog } = recovered;
  if (result.steps.check?.state !== "failed_final") return false;
  if (worldLog.count("cancel", "room 7") === 0) worldLog.append({ did: "cancel", to: "room 7" });
  return resumeAfterRepair(recovered);
}

export async function verifyAsPerson({ engine, result, worldLog }: ScenarioRun): Promise<boolean> {
  if (!result.final || worldLog.count("verified", "the run") > 0) return false;
  await engine.verify(result.run_id, { principal: personAna, reason: "monthly check" });
  worldLog.recordReport("run.verified");
  worldLog.append({ did: "verified", to: "the run" });
  return true;
}

export async function undoAsPerson(
  { engine, result, worldLog }: ScenarioRun,
  states: readonly string[],
): Promise<boolean> {
  if (!states.includes(result.steps.book?.state ?? "")) return false;
  await engine.resolve(result.run_id, "book", { principal: personAna, as: "undo", reason: "no longer needed" });
  worldLog.recordReport("step.compensating book");
  return true;
}
