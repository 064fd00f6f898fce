import { eventCharges } from "../../core/call/cost-charges.ts";
import type { Event } from "../../core/event/event.ts";
import { eventRows } from "../../core/evolve/event-rows.ts";
import { type Run, type RunStatus, runStatus } from "../../core/run/run.ts";
import type { Entry, SealedEvent } from "../../core/store/store.ts";
import type { Epoch } from "../../core/values/ids.ts";
import type { Durability } from "../api/engine-limits.ts";
import { type Batch, batchChecks } from "./batch.ts";
import { isHardEvent, isNeverShown } from "./hard-events.ts";
import type { EventBlob, JournalCodec } from "./journal-codec.ts";

/** The entry of a batch, the hash of its last event, and the blobs that must be stored before it. */
interface BatchEntry {
  readonly entry: Entry;
  readonly head: Uint8Array;
  readonly blobs: readonly EventBlob[];
}

/** The terms of an append. */
export interface EntryTerms {
  readonly epoch: Epoch | null;
  readonly durability: Durability;
  /** True if the owner of the run would return a result of it, though it still has work. */
  showsResult(after: Run, events: readonly Event[]): boolean;
}

/** Makes the entry of a batch that follows the event with the hash `previous`. */
export function makeEntry(journal: JournalCodec, previous: Uint8Array, batch: Batch, terms: EntryTerms): BatchEntry {
  const { before, after, events } = batch;
  const sealed: SealedEvent[] = [];
  const blobs: EventBlob[] = [];
  let head = previous;
  for (const event of events) {
    const { event: bytes, blob } = journal.seal(event, before.position + sealed.length + 1, head);
    if (blob !== null) blobs.push(blob);
    sealed.push(bytes);
    head = bytes.hash;
  }
  const entry: Entry = {
    tenant: after.tenant,
    run: after.id,
    // A new run has no lease: no other worker knows it.
    expect: { position: before.position, epoch: before.position === 0 ? null : terms.epoch },
    events: sealed,
    puts: eventRows(before, events, after),
    charges: eventCharges(events),
    checks: batchChecks(batch),
    flush: flushOf(batch, terms),
  };
  return { entry, head, blobs };
}

function flushOf({ events, after }: Batch, { epoch, durability, showsResult }: EntryTerms): Entry["flush"] {
  if (durability !== "power") return durability === "every" ? "hard" : "soft";
  const shown = !hasWork.includes(runStatus(after)) || showsResult(after, events);
  const rests = shown && !events.every(isNeverShown);
  return rests || epoch === null || events.some(isHardEvent) ? "hard" : "soft";
}

/** The statuses of a run that is not at rest, or whose calls rest one by one. */
const hasWork: readonly RunStatus[] = ["running", "open"];
