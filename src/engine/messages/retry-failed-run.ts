import type { Principal } from "../../core/approval/principal.ts";
import type { RunId } from "../../core/values/ids.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

/** Resumes the earlier run of a request if it ended as failed or partial. Any other run stays as it is. */
export async function retryFailedRun(
  { clock }: WorkerPorts,
  leasedRuns: LeasedRuns,
  principal: Principal,
  id: RunId,
): Promise<void> {
  const asked = {
    type: "resume",
    verb: "resume",
    principal,
    reason: "its request was submitted again",
    only: "failed",
  } as const;
  await leasedRuns.command(principal.tenant, id, () => ({ ...asked, now: clock.now() }));
}
