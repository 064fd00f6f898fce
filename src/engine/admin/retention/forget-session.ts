import type { Run } from "../../../core/run/run.ts";
import type { RetentionCounts } from "../../../core/settings/retention-events.ts";
import { isRunOf, type SessionToForget } from "../../../core/settings/session-to-forget.ts";
import type { RunRow } from "../../../core/store/tables.ts";
import { FaultError } from "../../../core/values/fault.ts";
import type { RunId, Tenant } from "../../../core/values/ids.ts";
import type { LoadedRun } from "../../journal/load-run.ts";
import { loadRun } from "../../journal/load-run.ts";
import { RunMailbox } from "../../journal/run-mailbox.ts";
import { listRows } from "../../journal/store-listing.ts";
import type { WorkerPorts } from "../../worker/worker-ports.ts";
import { eraseRun, listReceiptPositions } from "./apply-retention.ts";

/**
 * Closes the runs of a session and of its sub-agents, and erases those that have ended. A run with an act that is in
 * flight or in doubt waits: its record is needed until the act is settled.
 */
export async function forgetSession(
  ports: WorkerPorts,
  tenant: Tenant,
  session: SessionToForget,
  by: string,
): Promise<RetentionCounts> {
  const erased = { runs: 0, events: 0, waiting: 0, snapshots: 0 };
  const runs = await listSessionRuns(ports, tenant, session);
  if (runs.length === 0) return erased;
  const closed: Run[] = [];
  for (const loaded of runs) closed.push(await closeRun(ports, loaded, by));
  // Read after the positions: a later receipt moves its run on, and then nothing of that run is erased.
  const receipts = await listReceiptPositions(ports, tenant);
  for (const { id: run, position, ended } of closed) {
    const events = ended === null ? null : await eraseRun(ports, tenant, { run, position }, receipts);
    if (events === null) erased.waiting += 1;
    else if (events > 0) erased.runs += 1;
    erased.events += events ?? 0;
  }
  return erased;
}

async function closeRun(ports: WorkerPorts, loaded: LoadedRun, by: string): Promise<Run> {
  const { run } = loaded;
  if (!run.open) return run;
  const mailbox = new RunMailbox(ports, loaded, null);
  const principal = { id: by, kind: "service", tenant: run.tenant } as const;
  const terms = { type: "close", principal, as: "abandoned", reason: "the session is forgotten" } as const;
  await mailbox.ask(() => ({ ...terms, now: ports.clock.now() }));
  return mailbox.run;
}

/** Returns the runs of a session that are not erased, and those of its sub-agents. */
async function listSessionRuns(
  ports: WorkerPorts,
  tenant: Tenant,
  session: SessionToForget,
): Promise<readonly LoadedRun[]> {
  const rows: RunRow[] = [];
  for await (const { row } of listRows(ports.store, tenant, "run")) rows.push(JSON.parse(row) as RunRow);
  const found = new Map<RunId, LoadedRun>();
  const isOwn = (row: RunRow) => row.session === session.session && row.principal === session.owner;
  for (const { run_id } of rows.filter(isOwn)) {
    const loaded = await loadUnlessErased(ports, tenant, run_id);
    if (loaded !== null && isRunOf(session, loaded.run)) found.set(run_id, loaded);
  }
  for (const id of found.keys())
    for (const { run_id } of rows.filter(({ parent }) => parent === id)) {
      const loaded = found.has(run_id) ? null : await loadUnlessErased(ports, tenant, run_id);
      if (loaded !== null) found.set(run_id, loaded);
    }
  return [...found.values()];
}

async function loadUnlessErased({ store }: WorkerPorts, tenant: Tenant, id: RunId): Promise<LoadedRun | null> {
  try {
    return await loadRun(store, tenant, id);
  } catch (error) {
    if (error instanceof FaultError && error.fault.code === "RUN_NOT_FOUND") return null;
    throw error;
  }
}
