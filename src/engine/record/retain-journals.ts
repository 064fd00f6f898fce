import type { Digest, Instant, RunId, Tenant } from "../../core/id.ts";
import type { ScheduleRow, SignalRow } from "../../core/rows.ts";
import type { SignalSent } from "../../core/signal.ts";
import type { StoredEvent } from "../../core/store.ts";
import { journalsIn } from "../listing.ts";
import type { Ports } from "../ports.ts";
import { isBox } from "../post/boxes.ts";
import { isSchedule } from "../post/schedules.ts";
import { blobIn, bodyHash, Journal } from "./journal.ts";

/**
 * Erases what the journals that are no runs have said before: signals that were taken out of their box, and what became of a
 * schedule's times. What is still needed stays: signals that nobody took, and the order that a schedule is for. Answers how many.
 */
export async function retainJournals(ports: Ports, tenant: Tenant, before: Instant): Promise<number> {
  let erased = 0;
  for (const prefix of ["sch_", "sig_"])
    for await (const journal of journalsIn(ports.store, tenant, prefix))
      erased += await emptied(ports, tenant, journal, before);
  return erased;
}

async function emptied(ports: Ports, tenant: Tenant, run: RunId, before: Instant): Promise<number> {
  const { store } = ports;
  const position = (await store.head(tenant, run))?.position ?? 0;
  const stored = await store.events(tenant, run, 0);
  const isGoing = await goingOf(ports, tenant, run, stored);
  const going = stored.filter((event) => event.body !== null && event.at < before && isGoing(event.position));
  if (going.length === 0) return 0;
  const staying = stored.filter((event) => !going.includes(event));
  const blobs = blobsOf(going, staying);
  const keep = staying.map((event) => event.position);
  return (await store.erase({ tenant, run, position, keep, blobs }, bodyHash)) ?? 0;
}

/** Which positions nobody needs any more. Rows are read after the head: what came later moved it on, and then nothing is erased. */
async function goingOf(
  { store }: Ports,
  tenant: Tenant,
  run: RunId,
  stored: readonly StoredEvent[],
): Promise<(position: number) => boolean> {
  if (isSchedule(run)) {
    const found = await store.row(tenant, "setting", run);
    const order = found === null ? null : (JSON.parse(found.row) as ScheduleRow).order;
    return (position) => position !== order;
  }
  const readable = stored.find(({ body }) => body !== null);
  if (readable === undefined || !isBox(run)) return () => false;
  const { box } = await new Journal(tenant, run).open<SignalSent>(readable, store);
  const found = await store.row(tenant, "signal", box.key);
  const taken = found === null ? 0 : (JSON.parse(found.row) as SignalRow).taken;
  return (position) => position <= taken;
}

/** The blobs that only bodies that are about to go point to. */
export function blobsOf(going: readonly StoredEvent[], staying: readonly StoredEvent[]): readonly Digest[] {
  const kept = namesIn(staying);
  return [...namesIn(going)].filter((name) => !kept.has(name));
}

function namesIn(events: readonly StoredEvent[]): ReadonlySet<Digest> {
  const names = new Set<Digest>();
  for (const { body } of events) {
    const name = body === null ? null : blobIn(body);
    if (name !== null) names.add(name);
  }
  return names;
}
