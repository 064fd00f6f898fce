import { findStep, type Run } from "../../core/run/run.ts";
import type { DoubtRow } from "../../core/store/tables.ts";
import { type Fault, fault } from "../../core/values/fault.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import type { DoubtView, UnreadableDoubt } from "../api/list-api.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { loadReadableRun } from "./gate-and-cost-reports.ts";

/** Returns acts in doubt with their calls, which are only in the journals; each run is read once. */
export async function loadDoubtViews(
  ports: WorkerPorts,
  tenant: Tenant,
  rows: readonly DoubtRow[],
): Promise<readonly (DoubtView | UnreadableDoubt)[]> {
  const runs = new Map<RunId, Run | Fault>();
  for (const { run_id } of rows) if (!runs.has(run_id)) runs.set(run_id, await loadReadableRun(ports, tenant, run_id));
  return rows.flatMap((row) => toDoubtView(runs.get(row.run_id) as Run | Fault, row));
}

function toDoubtView(run: Run | Fault, row: DoubtRow): readonly (DoubtView | UnreadableDoubt)[] {
  if ("code" in run) return [{ ...row, fault: run }];
  const step = findStep(run, row.step_id);
  if (step === undefined)
    return [{ ...row, fault: fault("STEP_NOT_FOUND", `run ${run.id} has no step ${row.step_id}; audit the run`) }];
  const { standing, call } = step;
  // It was settled since the row was read.
  if (standing.state !== "in_doubt") return [];
  return [{ ...row, input: call?.input ?? null, fault: standing.fault, exits: standing.doubt.exits }];
}
