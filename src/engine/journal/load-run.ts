import type { Event } from "../../core/event/event.ts";
import { foldEvents } from "../../core/evolve/evolve.ts";
import { emptyRun, type Run } from "../../core/run/run.ts";
import type { Store, StoredEvent } from "../../core/store/store.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import { isName } from "../../core/values/is-name.ts";
import { GENESIS_HASH, JournalCodec } from "./journal-codec.ts";

/** A run as it was loaded: its fold and the hash of its last event. */
export interface LoadedRun {
  readonly run: Run;
  readonly head: Uint8Array;
}

/** Reads and folds a run, page by page, so that folded events can be freed. */
export async function loadRun(store: Store, tenant: Tenant, id: RunId): Promise<LoadedRun> {
  if (!isName(id)) throw runNotFoundError(tenant, id);
  const journal = new JournalCodec(tenant, id);
  let { run, head } = newRun(tenant, id);
  for await (const page of readEventPages(store, tenant, id)) {
    journal.assertIntact(page, head, run.position);
    let events: Event[] = [];
    for (const stored of page) {
      events.push(journal.openInline(stored) ?? (await journal.open(stored, store)));
      if (events.length < FOLD_SIZE) continue;
      run = foldEvents(run, events);
      events = [];
    }
    run = foldEvents(run, events);
    head = (page.at(-1) as StoredEvent).hash;
  }
  if (run.position === 0) throw runNotFoundError(tenant, id);
  return { run, head };
}

/** Events per fold: fewer events are in memory at once, so that more of them are freed while they are young. */
const FOLD_SIZE = 32;

/** Events per read: few round trips, little memory. */
const PAGE_SIZE = 500;

/** Yields the events of a run in pages, oldest first. No page is empty. */
export async function* readEventPages(store: Store, tenant: Tenant, run: RunId): AsyncIterable<readonly StoredEvent[]> {
  let page: readonly StoredEvent[] = [];
  let after = 0;
  do {
    page = await store.events(tenant, run, after, PAGE_SIZE);
    after = page.at(-1)?.position ?? after;
    if (page.length > 0) yield page;
  } while (page.length === PAGE_SIZE);
}

/** Returns the error for a run that does not exist in the tenant. Runs of other tenants do not exist. */
export function runNotFoundError(tenant: Tenant, run: RunId): FaultError {
  const message = isName(run) ? `no run ${run} in tenant ${tenant}` : "that is not the id of a run";
  return new FaultError(fault("RUN_NOT_FOUND", `${message}; list the runs to see which there are`));
}

export function newRun(tenant: Tenant, run: RunId): LoadedRun {
  return { run: emptyRun(run, tenant), head: GENESIS_HASH };
}

/** Reads one event that a ledger row or an outcome points to. Null: it was erased. */
export async function loadEventAt(store: Store, tenant: Tenant, run: RunId, position: number): Promise<Event | null> {
  const journal = new JournalCodec(tenant, run);
  const before = Math.max(0, position - 2);
  const found = await store.events(tenant, run, before, position - before);
  const stored = found.at(-1);
  if (stored?.position !== position || stored.body === null) return null;
  journal.assertIntact([stored], position === 1 ? GENESIS_HASH : (found[0] as StoredEvent).hash, position - 1);
  return journal.open<Event>(stored, store);
}
