import type { SignalSent } from "../../../core/event/signal.ts";
import type { StoredEvent } from "../../../core/store/store.ts";
import type { ScheduleRow, SignalRow } from "../../../core/store/tables.ts";
import type { Digest, Instant, RunId, Tenant } from "../../../core/values/ids.ts";
import { blobNameIn, hashBody, JournalCodec } from "../../journal/journal-codec.ts";
import { isScheduleJournal } from "../../journal/journal-names.ts";
import { isSignalJournal } from "../../journal/signal-box.ts";
import { listJournals } from "../../journal/store-listing.ts";
import type { WorkerPorts } from "../../worker/worker-ports.ts";

/**
 * Erases old event bodies of signal and schedule journals: signals that were taken, and past firings of schedules.
 * Keeps signals that no step has taken, and the current order of a schedule. Returns the number of erased bodies.
 */
export async function eraseOldJournals(ports: WorkerPorts, tenant: Tenant, before: Instant): Promise<number> {
  let erased = 0;
  for (const prefix of ["sch_", "sig_"])
    for await (const journal of listJournals(ports.store, tenant, prefix))
      erased += await eraseJournal(ports, tenant, journal, before);
  return erased;
}

async function eraseJournal(ports: WorkerPorts, tenant: Tenant, run: RunId, before: Instant): Promise<number> {
  const { store } = ports;
  const position = (await store.head(tenant, run))?.position ?? 0;
  const stored = await store.events(tenant, run, 0);
  const isErasable = await makeIsErasable(ports, tenant, run, stored);
  const erasable = stored.filter((event) => event.body !== null && event.at < before && isErasable(event.position));
  if (erasable.length === 0) return 0;
  const remaining = stored.filter((event) => !erasable.includes(event));
  const blobs = unsharedBlobs(erasable, remaining);
  const keep = remaining.map((event) => event.position);
  return (await store.erase({ tenant, run, position, keep, blobs }, hashBody)) ?? 0;
}

/**
 * Returns a test for positions that can be erased. Rows are read after the head: a later append moves the head, and
 * then nothing is erased.
 */
async function makeIsErasable(
  { store }: WorkerPorts,
  tenant: Tenant,
  run: RunId,
  stored: readonly StoredEvent[],
): Promise<(position: number) => boolean> {
  if (isScheduleJournal(run)) {
    const found = await store.row(tenant, "setting", run);
    const order = found === null ? null : (JSON.parse(found.row) as ScheduleRow).order;
    return (position) => position !== order;
  }
  const readable = stored.find(({ body }) => body !== null);
  if (readable === undefined || !isSignalJournal(run)) return () => false;
  const { box } = await new JournalCodec(tenant, run).open<SignalSent>(readable, store);
  const found = await store.row(tenant, "signal", box.key);
  const taken = found === null ? 0 : (JSON.parse(found.row) as SignalRow).taken;
  return (position) => position <= taken;
}

/** Returns the blobs that only the bodies to erase refer to. */
export function unsharedBlobs(erasable: readonly StoredEvent[], remaining: readonly StoredEvent[]): readonly Digest[] {
  const kept = blobNamesIn(remaining);
  return [...blobNamesIn(erasable)].filter((name) => !kept.has(name));
}

function blobNamesIn(events: readonly StoredEvent[]): ReadonlySet<Digest> {
  const names = new Set<Digest>();
  for (const { body } of events) {
    const name = body === null ? null : blobNameIn(body);
    if (name !== null) names.add(name);
  }
  return names;
}
