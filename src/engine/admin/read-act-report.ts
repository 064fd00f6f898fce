import { receiptOf } from "../../core/call/receipt.ts";
import type { LedgerRow } from "../../core/store/tables.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Tenant } from "../../core/values/ids.ts";
import type { ActReport } from "../api/act-report.ts";
import { loadEventAt } from "../journal/load-run.ts";
import { downstreamKey } from "../ports/digest.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

/** Returns the ledger row of an act and its receipt. Throws ACT_NOT_FOUND if no act of the tenant has the key. */
export async function readActReport({ store }: WorkerPorts, tenant: Tenant, key: string): Promise<ActReport> {
  const stored = await store.row(tenant, "ledger", key);
  if (stored === null) throw new FaultError(fault("ACT_NOT_FOUND", `no act has the key ${key}`));
  const { state, generation, tool, run_id, step_id, attempt, ...row } = JSON.parse(stored.row) as LedgerRow;
  const proof = row.receipt === null ? null : await loadEventAt(store, tenant, run_id, row.receipt);
  const receipt = proof && receiptOf(proof);
  return {
    key: row.key,
    sent_key: downstreamKey(row.key, generation),
    state,
    generation,
    tool,
    run_id,
    step_id,
    attempt,
    receipt: receipt && { output: receipt.output, at: receipt.at },
  };
}
