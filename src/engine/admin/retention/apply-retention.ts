import type { RetentionCounts } from "../../../core/settings/retention-events.ts";
import type { StoredEvent } from "../../../core/store/store.ts";
import type { LedgerRow, RunRow } from "../../../core/store/tables.ts";
import { FaultError, fault } from "../../../core/values/fault.ts";
import type { Instant, RunId, Tenant } from "../../../core/values/ids.ts";
import { JournalCodec } from "../../journal/journal-codec.ts";
import { loadRun } from "../../journal/load-run.ts";
import { RunMailbox } from "../../journal/run-mailbox.ts";
import { listRows } from "../../journal/store-listing.ts";
import type { WorkerPorts } from "../../worker/worker-ports.ts";
import { eraseInPieces } from "./erase-in-pieces.ts";
import { eraseOldSignalsAndFirings } from "./erase-old-signals-and-firings.ts";
import { eraseOldStateSnapshots } from "./erase-old-state-snapshots.ts";

/** An ended run, and its position when it was read. */
export interface ErasableRun {
  readonly run: RunId;
  readonly position: number;
}

/** Erases event bodies of ended runs. Keeps heads, hashes, ledger rows, receipts and events with state patches. */
export async function applyRetention(
  ports: WorkerPorts,
  tenant: Tenant,
  endedBefore: Instant,
): Promise<RetentionCounts> {
  const candidates = await listErasableRuns(ports, tenant, endedBefore);
  const erased = {
    runs: 0,
    events: await eraseOldSignalsAndFirings(ports, tenant, endedBefore),
    waiting: 0,
    snapshots: await eraseOldStateSnapshots(ports, tenant, endedBefore),
  };
  if (candidates.length === 0) return erased;
  // Read after the positions: a later receipt moves its run on, and then nothing of that run is erased.
  const receipts = await listReceiptPositions(ports, tenant);
  for (const candidate of candidates) {
    const events = await eraseRun(ports, tenant, candidate, receipts);
    if (events === null) erased.waiting += 1;
    else if (events > 0) erased.runs += 1;
    erased.events += events ?? 0;
  }
  return erased;
}

/** Erases the bodies of an ended run. Returns how many, or null if notices of its tools are undelivered. */
export async function eraseRun(
  ports: WorkerPorts,
  tenant: Tenant,
  candidate: ErasableRun,
  receipts: ReadonlyMap<RunId, readonly number[]>,
): Promise<number | null> {
  const { run } = candidate;
  const position = await withdrawNotices(ports, tenant, candidate);
  if (position === null) return null;
  const stored = await ports.store.events(tenant, run, 0);
  const kept = new Set([...(receipts.get(run) ?? []), ...(await stateEventPositions(ports, tenant, run, stored))]);
  return eraseInPieces(ports, { tenant, run, position }, stored, (event) => !kept.has(event.position));
}

/** Throws unless the time is in the past. A future time would erase runs that end meanwhile. */
export function assertPast({ clock }: WorkerPorts, endedBefore: Instant): void {
  if (Number.isSafeInteger(endedBefore) && endedBefore <= clock.now()) return;
  const message = "endedBefore must be a time in the past, in milliseconds since 1970";
  throw new FaultError(fault("INVALID_INPUT", message));
}

async function listErasableRuns(
  ports: WorkerPorts,
  tenant: Tenant,
  endedBefore: Instant,
): Promise<readonly ErasableRun[]> {
  const candidates: ErasableRun[] = [];
  const rows = new Map<RunId, RunRow>();
  for await (const { row } of listRows(ports.store, tenant, "run")) {
    const parsed = JSON.parse(row) as RunRow;
    rows.set(parsed.run_id, parsed);
  }
  for (const { run_id, ended_at, parent } of rows.values()) {
    if (ended_at === null || ended_at >= endedBefore || hasOpenAncestor(rows, parent)) continue;
    const position = (await ports.store.head(tenant, run_id))?.position ?? 0;
    const [last] = position === 0 ? [] : await ports.store.events(tenant, run_id, position - 1, 1);
    if (last !== undefined && last.body !== null) candidates.push({ run: run_id, position });
  }
  return candidates;
}

/** A run asks for the acts of its sub-agents when a branch leaves them, so they are kept until it has ended. */
function hasOpenAncestor(rows: ReadonlyMap<RunId, RunRow>, parent: RunId | undefined): boolean {
  const row = parent === undefined ? undefined : rows.get(parent);
  return row !== undefined && (row.ended_at === null || hasOpenAncestor(rows, row.parent));
}

/**
 * Withdraws the undelivered notices of the engine about an ended run, such as of a doubt that is settled: without a
 * worker that delivers notices, they would keep the run for ever. Returns the position of the run, or null if notices of
 * its tools are undelivered; their content is in the bodies.
 */
async function withdrawNotices(
  ports: WorkerPorts,
  tenant: Tenant,
  { run, position }: ErasableRun,
): Promise<number | null> {
  if (!(await hasNotices(ports, tenant, run))) return position;
  const mailbox = new RunMailbox(ports, await loadRun(ports.store, tenant, run), null);
  const { after } = await mailbox.ask(() => ({ type: "withdraw", now: ports.clock.now() }));
  return (await hasNotices(ports, tenant, run)) ? null : after.position;
}

async function hasNotices({ store }: WorkerPorts, tenant: Tenant, run: RunId): Promise<boolean> {
  const where = { field: "run_id", equals: run };
  return (await store.list(tenant, { table: "notice", where, order: "oldest", limit: 1 })).length > 0;
}

/** Returns the positions of events that carry state patches. The state of the project is folded from them. */
async function stateEventPositions(
  { store }: WorkerPorts,
  tenant: Tenant,
  run: RunId,
  stored: readonly StoredEvent[],
): Promise<readonly number[]> {
  const journal = new JournalCodec(tenant, run);
  const keep: number[] = [];
  for (const event of stored.filter(({ body }) => body !== null))
    if ("state" in (await journal.open(event, store))) keep.push(event.position);
  return keep;
}

/** Returns the positions of the receipts in the journals of runs. They stay, so that no act is repeated. */
export async function listReceiptPositions(
  ports: WorkerPorts,
  tenant: Tenant,
): Promise<ReadonlyMap<RunId, readonly number[]>> {
  const receipts = new Map<RunId, number[]>();
  for await (const { row } of listRows(ports.store, tenant, "ledger")) {
    const { run_id, receipt } = JSON.parse(row) as LedgerRow;
    if (receipt === null) continue;
    const kept = receipts.get(run_id);
    if (kept === undefined) receipts.set(run_id, [receipt]);
    else kept.push(receipt);
  }
  return receipts;
}
