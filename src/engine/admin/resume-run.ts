import type { RunId, Tenant } from "../../core/values/ids.ts";
import { readPrincipal } from "../api/read-principal.ts";
import { readReason } from "../api/read-reason.ts";
import type { ReasonOptions } from "../api/request-options.ts";
import { requestField } from "../journal/find-request-execution.ts";
import type { JudgedRequest } from "../journal/judged-request.ts";
import { loadRun } from "../journal/load-run.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

/** Resumes a run that has failed. With `resume:parked`, also releases a run that is parked. */
export async function resumeStoredRun(
  { clock }: WorkerPorts,
  leasedRuns: LeasedRuns,
  id: RunId,
  verb: "resume" | "resume:parked",
  options: ReasonOptions & JudgedRequest,
): Promise<void> {
  const principal = readPrincipal(options.principal);
  const reason = readReason(options);
  const { checks } = options;
  const asked = {
    type: "resume",
    verb,
    principal,
    reason,
    ...requestField(options),
    ...(checks && { checks }),
  } as const;
  await leasedRuns.command(principal.tenant, id, () => ({ ...asked, now: clock.now() }));
}

/** Returns whether a run is parked: it continues only if a person releases it. */
export async function isRunParked(
  { store }: WorkerPorts,
  leasedRuns: LeasedRuns,
  tenant: Tenant,
  id: RunId,
): Promise<boolean> {
  const run = leasedRuns.get(tenant, id)?.run ?? (await loadRun(store, tenant, id)).run;
  return run.ended === null && run.parked !== null;
}
