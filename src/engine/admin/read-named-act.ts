import type { ActNamedByApprover } from "../../core/decide/act-named-by-approver.ts";
import { usesReceipt } from "../../core/decide/answer-by-named-act.ts";
import type { LeftAct } from "../../core/event/left-act.ts";
import { namingKey } from "../../core/evolve/event-rows.ts";
import { inheritedActs } from "../../core/run/branch-acts.ts";
import type { Run } from "../../core/run/run.ts";
import type { LedgerRow, NamingRow } from "../../core/store/tables.ts";
import type { RunId, StepId, Tenant } from "../../core/values/ids.ts";
import { loadRun } from "../journal/load-run.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

/** An earlier act as an approver names it. Without a run, it is one of the run of the call. */
export interface ActName {
  readonly run_id: RunId | null;
  readonly step_id: StepId;
}

/** Reads the facts about the earlier act that an approver says a held call is. */
export async function readNamedAct(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  tenant: Tenant,
  id: RunId,
  name: ActName,
): Promise<ActNamedByApprover> {
  const run = leasedRuns.get(tenant, id)?.run ?? (await loadRun(ports.store, tenant, id)).run;
  const { step_id } = name;
  const run_id = name.run_id ?? id;
  const act = inheritedActs(run).find((each) => each.run_id === run_id && each.step_id === step_id);
  if (act === undefined) return { run_id, step_id, branch: null, ledger: null, named: null };
  const stored = run_id === id ? null : await ports.store.row(tenant, "ledger", act.key);
  const ledger = stored === null ? null : (JSON.parse(stored.row) as LedgerRow);
  return { run_id, step_id, branch: act.branch, ledger, named: await readNamedCall(ports, run, act) };
}

async function readNamedCall(ports: WorkerPorts, run: Run, act: LeftAct): Promise<ActNamedByApprover["named"]> {
  const stored = await ports.store.row(run.tenant, "request", namingKey(act.branch, act));
  if (stored === null) return null;
  const { run_id, step_id } = JSON.parse(stored.row) as NamingRow;
  if (run_id === run.id) return { version: stored.version, run_id, step_id, isFree: false };
  const other = (await loadRun(ports.store, run.tenant, run_id)).run;
  return { version: stored.version, run_id, step_id, isFree: !usesReceipt(other, step_id, act) };
}
