import type { RecoveryFinding, TakeoverClaim } from "../../core/decide/command.ts";
import { isRunning, type Run } from "../../core/run/run.ts";
import type { Claim } from "../../core/store/store.ts";
import type { WorkerPorts } from "./worker-ports.ts";

/** Returns the steps that the last worker left running or in doubt, and those that wait for a tool. */
export async function findUnfinishedSteps(
  { store, toolbox }: WorkerPorts,
  { tenant, id, steps }: Run,
): Promise<readonly RecoveryFinding[]> {
  const found: RecoveryFinding[] = [];
  for (const { standing, spec, pin, act } of steps) {
    // The caller of a step that it runs itself wakes the step when it is back.
    const parked = standing.state === "waiting" && standing.on.for === "tool" && standing.on.fault.code !== "TOOL_AWAY";
    if (standing.state !== "running" && standing.state !== "in_doubt" && !parked) continue;
    const tool = toolbox.mismatch(spec.name, pin) === null ? toolbox.facts(spec.name) : null;
    const called = standing.state === "running" && act !== null;
    const mark = called ? await store.marked(tenant, id, spec.step_id, act.attempt, act.boot) : "unknown";
    found.push({ step_id: spec.step_id, mark, tool });
  }
  return found;
}

/**
 * Returns the takeover of the run from its last worker. Null: that worker released the run, or it was this worker and
 * it had not failed to continue the run.
 */
export async function readTakeover(
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
