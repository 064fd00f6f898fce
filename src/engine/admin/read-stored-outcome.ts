import type { Event } from "../../core/event/event.ts";
import type { OutcomeRow } from "../../core/store/tables.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Tenant } from "../../core/values/ids.ts";
import type { OutcomeWithOutput } from "../api/outcome-with-output.ts";
import { loadEventAt } from "../journal/load-run.ts";
import { eventIds, readTraceIds } from "../journal/read-trace-ids.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

/** Returns an outcome with its output. Throws OUTCOME_NOT_FOUND if the tenant has none with the id. */
export async function readStoredOutcome(
  { store }: WorkerPorts,
  tenant: Tenant,
  id: string,
): Promise<OutcomeWithOutput> {
  const stored = await store.row(tenant, "outcome", id);
  if (stored === null) throw new FaultError(fault("OUTCOME_NOT_FOUND", `there is no outcome ${id}`));
  const { reuse_key: _key, position, ...view } = JSON.parse(stored.row) as OutcomeRow;
  const event = await loadEventAt(store, tenant, view.run_id, position);
  if (event === null) return { ...view, output: null, erased: true, ids: null };
  const ids = await readTraceIds(store, tenant, view.run_id);
  return { ...view, output: outputOf(event), erased: false, ids: ids && eventIds(ids, event) };
}

function outputOf(event: Event): OutcomeWithOutput["output"] {
  if (event.type === "step.succeeded") return event.output;
  return event.type === "step.settled" && event.settled.as === "happened" ? event.settled.output : null;
}
