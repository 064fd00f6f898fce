import { isRunning } from "../../core/run/run.ts";
import { type RunResult, runResult } from "../../core/run/run-result.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import { loadRun } from "../journal/load-run.ts";
import type { LeasedRuns } from "./leased-runs.ts";
import { obtainRun } from "./obtain-run.ts";
import type { WorkerPorts } from "./worker-ports.ts";

/** How long a caller waits for a run that another worker holds and this one can continue. */
const OBTAIN_WITHIN_MS = 1000;

/** Waits until the run is at rest, on any worker, and returns its result. Throws the reason of the signal if it aborts. */
export async function waitForResult(
  ports: WorkerPorts,
  runs: LeasedRuns,
  tenant: Tenant,
  id: RunId,
  signal?: AbortSignal,
): Promise<RunResult> {
  for (;;) {
    signal?.throwIfAborted();
    const { changed, stop } = runs.watch({ run: { tenant, id }, signal });
    try {
      const result = await resultAtRest(ports, runs, tenant, id);
      if (result !== null) return result;
      await changed;
    } finally {
      stop();
    }
  }
}

/** Returns the result if the run is at rest now, on any worker. */
async function resultAtRest(
  ports: WorkerPorts,
  runs: LeasedRuns,
  tenant: Tenant,
  id: RunId,
): Promise<RunResult | null> {
  runs.assertOpen();
  const leased = runs.get(tenant, id);
  if (leased !== undefined) return leased.rest();
  const { run } = await loadRun(ports.store, tenant, id);
  if (!isRunning(run)) {
    // A worker that lacks the tool of a waiting step may still hold the run, for example to deliver a notice.
    const obtained = runs.offersMissing(run) ? await obtainRun(ports, runs, run, OBTAIN_WITHIN_MS) : null;
    return obtained === null ? runResult(run) : obtained.rest();
  }
  if (!runs.claimsImmediately(run)) return null;
  return (await runs.take(tenant, id))?.rest() ?? null;
}
