import type { Event } from "../../core/event/event.ts";
import type { Store } from "../../core/store/store.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import type { EventIds, TraceIds } from "../api/run-handle-api.ts";
import { loadEventAt } from "./load-run.ts";

/** Returns the ids of a run, from its first event. Null: a retention has erased it. */
export async function readTraceIds(store: Store, tenant: Tenant, run_id: RunId): Promise<TraceIds | null> {
  const accepted = await loadEventAt(store, tenant, run_id, 1);
  return accepted === null ? null : traceIdsOf(accepted);
}

/** Returns the ids of the run that the event accepts. Null: it is another event. */
export function traceIdsOf(event: Event): TraceIds | null {
  if (event.type !== "run.accepted") return null;
  const { run_id, plan, correlation_id, trace_id } = event;
  return { run_id, plan_id: plan?.plan_id ?? null, correlation_id, trace_id };
}

/** Returns the ids of an event of the run. */
export function eventIds(ids: TraceIds, event: Event): EventIds {
  if (!("step_id" in event)) return ids;
  const { step_id } = event;
  if (!("attempt" in event)) return { ...ids, step_id };
  return { ...ids, step_id, job_id: `${ids.run_id}/${step_id}/${event.attempt}` };
}
