import type { Found, Taking } from "../../core/command.ts";
import { type Run, statusOf } from "../../core/run.ts";
import type { Claim } from "../../core/store.ts";
import type { Ports } from "../ports.ts";

/** What the last holder of a run left under way, and what waited for a tool that is here now. */
export async function foundIn({ store, toolbox }: Ports, { tenant, id, steps }: Run): Promise<readonly Found[]> {
  const found: Found[] = [];
  for (const { standing, spec, pin, act } of steps) {
    const parked = standing.state === "waiting" && standing.on.for === "tool";
    if (standing.state !== "running" && standing.state !== "in_doubt" && !parked) continue;
    const tool = toolbox.mismatch(spec.name, pin) === null ? toolbox.facts(spec.name) : null;
    const called = standing.state === "running" && act !== null;
    const mark = called ? await store.marked(tenant, id, spec.step_id, act.attempt, act.boot) : "unknown";
    found.push({ step_id: spec.step_id, mark, tool });
  }
  return found;
}

/**
 * From whom the run was taken while it had something to do; null if whoever held it last gave it back, or is this same worker: it
 * lives, so the run has not killed it. Unless it could not go on with the run, which is as good as lost with it.
 */
export async function takenFrom(
  { store, limits }: Ports,
  run: Run,
  claim: Claim,
  hasFailed: boolean,
): Promise<Taking | null> {
  if (claim.epoch === 1 || statusOf(run) !== "running") return null;
  const from = await store.predecessor(claim);
  if (from === null || (from === claim.worker && !hasFailed)) return null;
  return { by: claim.worker, from, epoch: claim.epoch, most: limits.takeovers };
}
