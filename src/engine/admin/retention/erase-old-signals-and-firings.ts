import type { SignalSent } from "../../../core/event/signal.ts";
import type { StoredEvent } from "../../../core/store/store.ts";
import type { ScheduleRow, SignalRow } from "../../../core/store/tables.ts";
import type { Instant, RunId, Tenant } from "../../../core/values/ids.ts";
import { JournalCodec } from "../../journal/journal-codec.ts";
import { isScheduleJournal } from "../../journal/journal-names.ts";
import { isSignalJournal } from "../../journal/signal-box.ts";
import { listJournals } from "../../journal/store-listing.ts";
import type { WorkerPorts } from "../../worker/worker-ports.ts";
import { eraseInPieces } from "./erase-in-pieces.ts";

/**
 * Erases old event bodies of signal and schedule journals: signals that were taken, and past firings of schedules.
 * Keeps signals that no step has taken, and the current order of a schedule. Returns the number of erased bodies.
 */
export async function eraseOldSignalsAndFirings(ports: WorkerPorts, tenant: Tenant, before: Instant): Promise<number> {
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
  return eraseInPieces(
    ports,
    { tenant, run, position },
    stored,
    (event) => event.at < before && isErasable(event.position),
  );
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
