import type { Run } from "../../core/run/run.ts";
import type { LeasedRun } from "./leased-run.ts";
import type { LeasedRuns } from "./leased-runs.ts";
import type { WorkerPorts } from "./worker-ports.ts";

/** The maximum time between two checks whether another worker has released the requested run. */
const askAgainMs = 50;

/**
 * Claims a run with the rules of this engine and continues it. If another worker holds it, asks for it, and waits for
 * it up to `waitMs`. Null: the other worker is busy with it, or this engine may not claim it directly.
 */
export async function obtainRun(
  ports: WorkerPorts,
  runs: LeasedRuns,
  run: Pick<Run, "tenant" | "id" | "queue" | "rules">,
  waitMs: number,
): Promise<LeasedRun | null> {
  const { tenant, id } = run;
  if (!runs.claimsImmediately(run)) return null;
  const { leases, clock, failpoint } = ports;
  const giveUpAt = clock.now() + waitMs;
  for (;;) {
    const leased = await runs.take(tenant, id);
    if (leased !== null || !runs.works) return leased;
    if (clock.now() >= giveUpAt) break;
    if (await leases.ask(tenant, id)) failpoint("handover.asked");
    await changeWithin(ports, runs, run, Math.min(askAgainMs, giveUpAt - clock.now()));
  }
  await leases.withdrawAsk(tenant, id);
  // It may have been released for this worker meanwhile.
  return runs.take(tenant, id);
}

/** Resolves when the run may have changed, or after a time. */
async function changeWithin(
  { loopTimers }: WorkerPorts,
  runs: LeasedRuns,
  run: Pick<Run, "tenant" | "id">,
  ms: number,
): Promise<void> {
  const { changed, stop } = runs.watch({ run });
  const cancel = loopTimers.after(ms, stop);
  await changed;
  cancel();
}
