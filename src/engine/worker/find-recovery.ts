import type { CommandOf, RecoveryFinding, TakeoverClaim, WorkerRules } from "../../core/decide/command.ts";
import { idleEndAt } from "../../core/run/idle-run.ts";
import { isRunning, type Run, type Step } from "../../core/run/run.ts";
import type { SentCall } from "../../core/run/step.ts";
import { isCallerAway } from "../../core/run/worker-requirements.ts";
import type { Claim } from "../../core/store/store.ts";
import type { WorkerId } from "../../core/values/ids.ts";
import type { RunMailbox } from "../journal/run-mailbox.ts";
import { findExecutingWorker } from "./find-executing-worker.ts";
import type { WorkerPorts } from "./worker-ports.ts";

/** The facts that a worker needs to continue a run. */
type Recovery = Pick<CommandOf<"recover">, "found" | "taken" | "rules">;

/** Returns what the last worker left unfinished and how this one took the run over, or null if there is nothing. */
export async function findRecovery(
  ports: WorkerPorts,
  run: Run,
  claim: Claim,
  hasFailed: boolean,
): Promise<Recovery | null> {
  const found = await findUnfinishedSteps(ports, run);
  const taken = await readTakeover(ports, run, claim, hasFailed);
  const rules = findOtherRules(ports, run, claim);
  return found.length > 0 || taken !== null || rules !== null ? { found, taken, rules } : null;
}

/** Closes an open run whose session has been idle for too long. */
export async function abandonIfIdle({ clock }: WorkerPorts, mailbox: RunMailbox): Promise<void> {
  const end = idleEndAt(mailbox.run);
  if (end !== null && end <= clock.now()) await mailbox.ask(() => ({ type: "abandon", now: clock.now() }));
}

/** Continues a rollback whose next undo needs an append of its own. */
export function askForNextUndo({ clock }: WorkerPorts, mailbox: RunMailbox): Promise<unknown> {
  return mailbox.ask(() => ({ type: "roll_back", now: clock.now() }));
}

/** Returns the steps that the last worker left running or in doubt, and those that wait for a tool. */
async function findUnfinishedSteps(ports: WorkerPorts, run: Run): Promise<readonly RecoveryFinding[]> {
  const { store, toolbox } = ports;
  const found: RecoveryFinding[] = [];
  for (const step of run.steps) {
    const { standing, spec, pin, act, external } = step;
    // A caller that runs the step itself wakes the step when the caller is back.
    const parked = standing.state === "waiting" && standing.on.for === "tool" && !isCallerAway(step);
    if (standing.state !== "running" && standing.state !== "in_doubt" && !parked) continue;
    const tool = toolbox.mismatch(spec.name, pin) === null ? toolbox.facts(spec.name) : null;
    const sent = standing.state !== "running" ? null : (act ?? external);
    const mark =
      sent === null ? "unknown" : await store.marked(run.tenant, run.id, spec.step_id, sent.attempt, sent.boot);
    const alive = mark !== "no" && (await callingWorkerOf(ports, run, step)) !== null;
    found.push({ step_id: spec.step_id, mark, alive, tool });
  }
  return found;
}

/** Continues the steps that waited for a tool that is here now, and settles acts in doubt that it can verify. */
export async function continueStepsOfTools(ports: WorkerPorts, mailbox: RunMailbox): Promise<void> {
  if (findStepsOfTools(ports, mailbox.run).length === 0) return;
  await mailbox.ask((run) => {
    const found = findStepsOfTools(ports, run);
    return { type: "recover", now: ports.clock.now(), found, taken: null, rules: null };
  });
}

/** Returns the steps that wait for a tool that is here now, and the acts in doubt whose tool is here now. */
function findStepsOfTools({ toolbox }: WorkerPorts, run: Run): readonly RecoveryFinding[] {
  return Array.from(run.waiting, ([id]) => run.steps.get(run.index.get(id) as number)).flatMap((step) => {
    const { standing, spec, pin } = step;
    const parked = standing.state === "waiting" && standing.on.for === "tool" && !isCallerAway(step);
    const doubted = standing.state === "in_doubt" && !standing.doubt.alive;
    if ((!parked && !doubted) || toolbox.pinned(spec.name, pin) === null) return [];
    return [{ step_id: spec.step_id, mark: "unknown", alive: false, tool: toolbox.facts(spec.name) } as const];
  });
}

/** Returns the rules of this worker if the run goes on under other rules; else null. */
function findOtherRules(
  { rulesDigest: digest }: WorkerPorts,
  { rules, ended, parked }: Run,
  { worker }: Claim,
): WorkerRules | null {
  const isOwn = rules?.digest === digest && parked?.for !== "rules";
  return isOwn || ended !== null ? null : { worker, digest };
}

/** Returns a worker whose process may still run a handler of the act of a step, or null. */
export async function callingWorkerOf(
  { store, leases, actsInFlight }: WorkerPorts,
  { tenant, id: run }: Run,
  { spec: { step_id: step }, act }: Step,
): Promise<WorkerId | null> {
  const runsHere = ({ attempt }: SentCall) => actsInFlight.has({ tenant, run, step, attempt });
  return act === null ? null : findExecutingWorker(store, act.sent, leases.worker, runsHere);
}

/**
 * Returns the takeover of the run from its last worker. Null: that worker released the run, or it was this worker and
 * it had not failed to continue the run.
 */
async function readTakeover(
  { store, limits }: WorkerPorts,
  run: Run,
  claim: Claim,
  hasFailed: boolean,
): Promise<TakeoverClaim | null> {
  if (claim.epoch === 1 || !isRunning(run)) return null;
  const from = await store.predecessor(claim);
  if (from === null || (from === claim.worker && !hasFailed)) return null;
  return { by: claim.worker, from, epoch: claim.epoch, most: limits.takeovers };
}
