import type { Store } from "../../core/store/store.ts";
import type { HeldIn } from "../../core/values/held-in.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import { JournalCodec, type JournalEvent } from "./journal-codec.ts";
import { readEventPages } from "./load-run.ts";

/** The event that records the execution of a held request. */
interface RequestedEvent<Found> {
  readonly event: Found;
  readonly position: number;
}

/**
 * Finds the event with which a held request was executed before: a worker that died afterwards did not record the end of
 * its step. Null: it was not executed, or the change was not held.
 */
export async function findRequestExecution<Found extends JournalEvent>(
  store: Store,
  tenant: Tenant,
  journal: RunId,
  requested: HeldIn,
): Promise<RequestedEvent<Found> | null> {
  for await (const found of requestedEvents<Found>(store, tenant, journal, requested)) return found;
  return null;
}

/** Yields the events with which a held request was executed, oldest first. */
export async function* requestedEvents<Found extends JournalEvent>(
  store: Store,
  tenant: Tenant,
  journal: RunId,
  { held_in }: HeldIn,
): AsyncGenerator<RequestedEvent<Found>> {
  if (held_in === undefined) return;
  const codec = new JournalCodec(tenant, journal);
  for await (const page of readEventPages(store, tenant, journal))
    for (const stored of page) {
      if (stored.body === null) continue;
      const event = await codec.open<Found>(stored, store);
      if ("held_in" in event && event.held_in === held_in) yield { event, position: stored.position };
    }
}

/** Returns the field that names the held request in an event. */
export function requestField({ held_in }: HeldIn): HeldIn {
  return held_in === undefined ? {} : { held_in };
}
