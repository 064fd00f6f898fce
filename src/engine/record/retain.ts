import { FaultError, fault } from "../../core/fault.ts";
import type { Instant, RunId, Tenant } from "../../core/id.ts";
import type { LedgerRow, RunRow } from "../../core/rows.ts";
import type { StoredEvent } from "../../core/store.ts";
import type { Retained } from "../api.ts";
import { rowsIn } from "../listing.ts";
import type { Ports } from "../ports.ts";
import { bodyHash, Journal } from "./journal.ts";
import { blobsOf, retainJournals } from "./retain-journals.ts";
import { retainStates } from "./retain-states.ts";

/** A run that has said all it had to say, as it was found. */
interface Candidate {
  readonly run: RunId;
  readonly position: number;
}

/** Erases bodies, never heads, hashes, ledger rows, the receipts they point to, or what tells the state of a project. */
export async function retain(ports: Ports, tenant: Tenant, endedBefore: Instant): Promise<Retained> {
  assertPast(ports, endedBefore);
  const candidates = await candidatesOf(ports, tenant, endedBefore);
  const erased = {
    runs: 0,
    events: await retainJournals(ports, tenant, endedBefore),
    waiting: 0,
    snapshots: await retainStates(ports, tenant, endedBefore),
  };
  if (candidates.length === 0) return erased;
  // After the positions: a receipt that came later moved its run on, and then nothing of it is erased.
  const receipts = await receiptsOf(ports, tenant);
  for (const { run, position } of candidates) {
    if (await hasNotices(ports, tenant, run)) {
      erased.waiting += 1;
      continue;
    }
    const stored = await ports.store.events(tenant, run, 0);
    const keep = [...(receipts.get(run) ?? []), ...(await tellingState(ports, tenant, run, stored))];
    const isKept = ({ position }: StoredEvent) => keep.includes(position);
    const blobs = blobsOf(
      stored.filter((event) => !isKept(event)),
      stored.filter(isKept),
    );
    const events = (await ports.store.erase({ tenant, run, position, keep, blobs }, bodyHash)) ?? 0;
    if (events > 0) erased.runs += 1;
    erased.events += events;
  }
  return erased;
}

/** A moment still to come would take runs that end meanwhile, before anyone could look at them. */
function assertPast({ clock }: Ports, endedBefore: Instant): void {
  if (Number.isSafeInteger(endedBefore) && endedBefore <= clock.now()) return;
  const message =
    "endedBefore must be a moment in the past, in milliseconds since 1970; runs that ended before it lose their bodies";
  throw new FaultError(fault("INVALID_INPUT", message));
}

async function candidatesOf(ports: Ports, tenant: Tenant, endedBefore: Instant): Promise<readonly Candidate[]> {
  const candidates: Candidate[] = [];
  for await (const { row } of rowsIn(ports.store, tenant, "run")) {
    const { run_id, ended_at } = JSON.parse(row) as RunRow;
    if (ended_at === null || ended_at >= endedBefore) continue;
    const position = (await ports.store.head(tenant, run_id))?.position ?? 0;
    const [last] = position === 0 ? [] : await ports.store.events(tenant, run_id, position - 1, 1);
    if (last !== undefined && last.body !== null) candidates.push({ run: run_id, position });
  }
  return candidates;
}

/** A message that nobody has taken yet is in the bodies; without them it could never be delivered. */
async function hasNotices({ store }: Ports, tenant: Tenant, run: RunId): Promise<boolean> {
  const where = { field: "run_id", equals: run };
  return (await store.list(tenant, { table: "notice", where, order: "oldest", limit: 1 })).length > 0;
}

/** A project's state is what these say; without them nobody could fold it. */
async function tellingState(
  { store }: Ports,
  tenant: Tenant,
  run: RunId,
  stored: readonly StoredEvent[],
): Promise<readonly number[]> {
  const journal = new Journal(tenant, run);
  const keep: number[] = [];
  for (const event of stored.filter(({ body }) => body !== null))
    if ("state" in (await journal.open(event, store))) keep.push(event.position);
  return keep;
}

async function receiptsOf(ports: Ports, tenant: Tenant): Promise<ReadonlyMap<RunId, readonly number[]>> {
  const receipts = new Map<RunId, number[]>();
  for await (const { row } of rowsIn(ports.store, tenant, "ledger")) {
    const { run_id, receipt } = JSON.parse(row) as LedgerRow;
    if (receipt === null) continue;
    const kept = receipts.get(run_id);
    if (kept === undefined) receipts.set(run_id, [receipt]);
    else kept.push(receipt);
  }
  return receipts;
}
