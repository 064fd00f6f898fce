import { inheritedActs } from "../../core/run/branch-acts.ts";
import { subAgentsOf } from "../../core/run/child-run-notices.ts";
import type { Run } from "../../core/run/run.ts";
import type { RunRow } from "../../core/store/tables.ts";
import type { RunId } from "../../core/values/ids.ts";
import { leaveSubAgents } from "../call/leave-sub-agents.ts";
import { loadRun } from "../journal/load-run.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

/** Tells the sub-agents of a run, and those below them, which acts branches have left. */
export async function tellLeftActs(ports: WorkerPorts, leasedRuns: LeasedRuns, { tenant, id }: Run): Promise<void> {
  const record = await currentRun(ports, leasedRuns, { tenant, id });
  await leaveSubAgents(record, leasedRuns.childRuns, (make) =>
    leasedRuns.command(tenant, id, () => make(ports.clock.now())),
  );
  const run = await currentRun(ports, leasedRuns, { tenant, id });
  for (const { child } of subAgentsOf(run)) await tellSubAgent(ports, leasedRuns, run, child);
}

/** Tells a sub-agent which acts branches have left above it. One that does not exist yet is told when it is opened. */
export async function tellSubAgent(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  above: Run,
  child: RunId,
): Promise<void> {
  const acts = inheritedActs(above);
  const stored = acts.length === 0 ? null : await ports.store.row(above.tenant, "run", child);
  if (stored === null || (JSON.parse(stored.row) as RunRow).ended_at !== null) return;
  const inherit = () => ({ type: "inherit_acts", now: ports.clock.now(), acts }) as const;
  const { after } = await leasedRuns.command(above.tenant, child, inherit);
  if (after.ended === null) await tellLeftActs(ports, leasedRuns, after);
}

/** Returns the run as it is now: that of this process if it holds the run, or else the stored one. */
export async function currentRun(
  { store }: WorkerPorts,
  leasedRuns: LeasedRuns,
  { tenant, id }: Pick<Run, "tenant" | "id">,
): Promise<Run> {
  return leasedRuns.get(tenant, id)?.run ?? (await loadRun(store, tenant, id)).run;
}
