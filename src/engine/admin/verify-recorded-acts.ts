import type { ActSighting } from "../../core/decide/act-finding.ts";
import { recordedActs } from "../../core/decide/reliance-on-acts.ts";
import type { VerifiedAct } from "../../core/event/verified-act.ts";
import { assert } from "../../core/values/assert.ts";
import type { RunId } from "../../core/values/ids.ts";
import { readPrincipal } from "../api/read-principal.ts";
import { readReason } from "../api/read-reason.ts";
import type { ReasonOptions } from "../api/request-options.ts";
import { sightRecordedAct, sightRecordedChanges } from "../call/verify.ts";
import { loadRun } from "../journal/load-run.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

/** The number of verifiers that are asked at the same time. */
const AT_ONCE = 10;

/** Asks the verifier of every recorded act of a run whether the act is still in effect, and records the answers. */
export async function verifyRecordedActs(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  id: RunId,
  options: ReasonOptions,
): Promise<readonly VerifiedAct[]> {
  leasedRuns.assertOpen();
  const { tenant, id: by } = readPrincipal(options.principal);
  const reason = readReason(options);
  const { run } = await loadRun(ports.store, tenant, id);
  const acts = recordedActs(run);
  const seen: ActSighting[] = [];
  for (let from = 0; from < acts.length; from += AT_ONCE) {
    const asked = acts.slice(from, from + AT_ONCE).map(async (step) => {
      const { step_id } = step.spec;
      const sighting = await sightRecordedAct(ports, run, step);
      const changes = await sightRecordedChanges(ports, step);
      return changes.length === 0 ? { step_id, sighting } : { step_id, sighting, changes };
    });
    seen.push(...(await Promise.all(asked)));
  }
  const now = ports.clock.now();
  const { events } = await leasedRuns.command(tenant, id, () => ({ type: "verify", now, by, reason, seen }));
  const recorded = events.find((event) => event.type === "run.verified");
  assert(recorded !== undefined, "a requested verification is recorded");
  return recorded.acts;
}
