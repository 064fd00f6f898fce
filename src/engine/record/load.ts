import type { Event } from "../../core/event.ts";
import { fold } from "../../core/evolve.ts";
import { FaultError, fault } from "../../core/fault.ts";
import type { RunId, Tenant } from "../../core/id.ts";
import { unbornRun } from "../../core/run.ts";
import type { Store, StoredEvent } from "../../core/store.ts";
import { isName } from "../principal.ts";
import { GENESIS, Journal } from "./journal.ts";
import type { Loaded } from "./mailbox.ts";

/** Reads and folds a run: everything that resuming it needs. A page at a time, so that what is folded is soon forgotten. */
export async function load(store: Store, tenant: Tenant, id: RunId): Promise<Loaded> {
  if (!isName(id)) throw noRun(tenant, id);
  const journal = new Journal(tenant, id);
  let { run, head } = unborn(tenant, id);
  for await (const page of pages(store, tenant, id)) {
    journal.assertIntact(page, head, run.position);
    const events: Event[] = [];
    for (const stored of page) events.push(journal.opened(stored) ?? (await journal.open(stored, store)));
    run = fold(run, events);
    head = (page.at(-1) as StoredEvent).hash;
  }
  if (run.position === 0) throw noRun(tenant, id);
  return { run, head };
}

/** Big enough that asking is not what takes the time, small enough that a page is gone before it is in the way. */
const PAGE = 500;

/** The events of a run, oldest first. None is empty. */
export async function* pages(store: Store, tenant: Tenant, run: RunId): AsyncIterable<readonly StoredEvent[]> {
  let page: readonly StoredEvent[] = [];
  let after = 0;
  do {
    page = await store.events(tenant, run, after, PAGE);
    after = page.at(-1)?.position ?? after;
    if (page.length > 0) yield page;
  } while (page.length === PAGE);
}

/** The tenant comes from the principal alone; a run of another tenant is one that does not exist. */
export function noRun(tenant: Tenant, run: RunId): FaultError {
  const message = isName(run) ? `no run ${run} in tenant ${tenant}` : "that is not the id of a run";
  return new FaultError(fault("RUN_NOT_FOUND", `${message}; list the runs to see which there are`));
}

export function unborn(tenant: Tenant, run: RunId): Loaded {
  return { run: unbornRun(run, tenant), head: GENESIS };
}

/** One event of another run, where a ledger row or an outcome points to it; null once it was erased. */
export async function eventAt(store: Store, tenant: Tenant, run: RunId, position: number): Promise<Event | null> {
  const journal = new Journal(tenant, run);
  const before = Math.max(0, position - 2);
  const found = await store.events(tenant, run, before, position - before);
  const stored = found.at(-1);
  if (stored?.position !== position || stored.body === null) return null;
  journal.assertIntact([stored], position === 1 ? GENESIS : (found[0] as StoredEvent).hash, position - 1);
  return journal.open(stored, store);
}
