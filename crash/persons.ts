import { passMinute } from "./clock.ts";
import { agent, ana, type Rest } from "./scenario.ts";

export async function cancels({ engine, result, witness }: Rest): Promise<boolean> {
  if (result.final) return false;
  await (await engine.run(result.run_id, { principal: ana })).cancel({ reason: "it can wait no longer" });
  witness.hears("cancel.requested");
  return true;
}

/** Sent under one id, so that it may be sent again by whoever cannot know whether it was. */
export async function signals({ engine, witness }: Omit<Rest, "result">, key: string): Promise<true> {
  await engine.signal(key, { paid: true }, { principal: ana, id: "the one signal" });
  witness.hears("step.succeeded paid"); // From now on it is only a matter of time.
  return true;
}

/** For the next minute, which then passes. */
export async function setsSchedule({ engine, witness }: Omit<Rest, "result">): Promise<void> {
  if ((await engine.schedules.list({ principal: ana })).length === 0) {
    const soon = new Date(Date.now() + 60_000);
    const cron = `${soon.getUTCMinutes()} ${soon.getUTCHours()} * * *`;
    const plan = { steps: [{ step_id: "send", name: "scheduled.mail.send", payload: { to: "ana@example.org" } }] };
    await engine.schedules.set("daily", plan, { principal: agent, cron });
  }
  passMinute(witness);
}

export async function awaitsSchedule({ engine }: Rest): Promise<boolean> {
  const [row] = await engine.schedules.list({ principal: ana });
  const fired = row?.last?.run_id ?? null;
  if (fired !== null && (await (await engine.run(fired, { principal: ana })).now()).final) return false;
  await new Promise((resolve) => setTimeout(resolve, 5)); // Nobody tells when something has begun by itself.
  return true;
}

export async function letsGoOn({ engine, result, witness }: Rest): Promise<boolean> {
  if (result.poison === undefined) return false;
  witness.note({ did: "parked", to: `after ${result.poison.takeovers.length}` });
  await engine.resume(result.run_id, { principal: ana, reason: "there is more memory now" });
  witness.hears("run.resumed");
  return true;
}

export async function mends({ engine, result, witness }: Rest): Promise<boolean> {
  if (result.steps.check?.state !== "failed_final") return false;
  if (witness.count("mend", "the server") === 0) witness.note({ did: "mend", to: "the server" });
  await engine.resume(result.run_id, { principal: ana, reason: "the server is set up" });
  witness.hears("run.resumed");
  return true;
}

export async function undoes({ engine, result, witness }: Rest, states: readonly string[]): Promise<boolean> {
  if (!states.includes(result.steps.book?.state ?? "")) return false;
  await engine.resolve(result.run_id, "book", { principal: ana, as: "undo", reason: "changed my mind" });
  witness.hears("step.compensating book");
  return true;
}
