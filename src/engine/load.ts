import type { Event } from "../core/event.ts";
import { fold } from "../core/evolve.ts";
import { FaultError, fault } from "../core/fault.ts";
import type { RunId, Tenant } from "../core/id.ts";
import { unbornRun } from "../core/run.ts";
import type { Store, StoredEvent } from "../core/store.ts";
import { GENESIS, Journal } from "./journal.ts";
import type { Loaded } from "./mailbox.ts";
import { isName } from "./principal.ts";

/** Reads and folds a run: everything that resuming it needs. */
export async function load(store: Store, tenant: Tenant, run: RunId): Promise<Loaded> {
  const stored = isName(run) ? await store.events(tenant, run, 0) : [];
  const last = stored.at(-1);
  if (last === undefined) throw noRun(tenant, run);
  const journal = new Journal(tenant, run);
  journal.assertIntact(stored, GENESIS);
  const events: Event[] = [];
  for (const event of stored) events.push(await journal.open(event, store));
  return { run: fold(unbornRun(run, tenant), events), head: last.hash };
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
