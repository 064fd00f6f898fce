import { evolve } from "../core/evolve.ts";
import type { RunId, Tenant } from "../core/id.ts";
import { versionAfter } from "../core/judge.ts";
import type { LedgerRow } from "../core/rows.ts";
import { rowsOf } from "../core/rows-of.ts";
import { type Run, unbornRun } from "../core/run.ts";
import type { Put, Store, StoredEvent, StoredRow } from "../core/store.ts";
import type { AuditReport } from "./api.ts";
import { blobIn, GENESIS, Journal } from "./journal.ts";

interface Verdict {
  readonly events: number;
  readonly erased: number;
  readonly broken: { readonly position: number; readonly what: string } | null;
}

/** Goes over the journals: every body against its hash, every event against its predecessor, every row against its fold. */
export async function audit(store: Store, tenant: Tenant, runs: AsyncIterable<RunId>): Promise<AuditReport> {
  const broken: AuditReport["broken"][number][] = [];
  const counts = { runs: 0, events: 0, erased: 0 };
  for await (const run of runs) {
    const verdict = await auditRun(store, tenant, run);
    counts.runs += 1;
    counts.events += verdict.events;
    counts.erased += verdict.erased;
    if (verdict.broken !== null) broken.push({ run_id: run, ...verdict.broken });
  }
  return { ...counts, broken };
}

async function auditRun(store: Store, tenant: Tenant, run: RunId): Promise<Verdict> {
  const stored = await store.events(tenant, run, 0);
  const erased = stored.filter((event) => event.body === null).length;
  const broken =
    (await brokenChain(store, tenant, run, stored)) ??
    (erased > 0 ? null : await brokenRows(store, tenant, run, stored));
  return { events: stored.length, erased, broken };
}

async function brokenChain(
  store: Store,
  tenant: Tenant,
  run: RunId,
  stored: readonly StoredEvent[],
): Promise<Verdict["broken"]> {
  const journal = new Journal(tenant, run);
  let previous: Uint8Array = GENESIS;
  for (const [index, event] of stored.entries()) {
    const { position } = event;
    if (position !== index + 1) return { position, what: `event ${index + 1} is missing` };
    if (event.body === null && event.body_hash === null)
      return { position, what: "its body is gone and no hash of it was kept" };
    if (!journal.isIntact(event, previous))
      return { position, what: "it is not what was written: its hash does not match" };
    const blob = await brokenBlob(store, tenant, journal, event);
    if (blob !== null) return { position, what: blob };
    previous = event.hash;
  }
  const head = await store.head(tenant, run);
  if (head === null || head.position !== stored.length || !same(head.hash, previous)) {
    return {
      position: stored.length,
      what: `the head says ${head?.position ?? 0} events, the journal has ${stored.length}`,
    };
  }
  return null;
}

async function brokenBlob(
  store: Store,
  tenant: Tenant,
  journal: Journal,
  { body }: StoredEvent,
): Promise<string | null> {
  const name = body === null ? null : blobIn(body);
  if (name === null) return null;
  const bytes = await store.blob(tenant, name);
  if (bytes === null) return `its blob ${name} is gone`;
  return journal.blobName(bytes) === name ? null : `its blob ${name} was changed`;
}

/** Rows are a cache of the journal: refolding must give the same bytes. */
async function brokenRows(
  store: Store,
  tenant: Tenant,
  run: RunId,
  stored: readonly StoredEvent[],
): Promise<Verdict["broken"]> {
  for (const [name, put] of await refold(store, tenant, run, stored)) {
    const found = await store.row(tenant, put.table, put.key);
    if (isSame(put, found) || (await hasNewOwner(store, tenant, run, put, found))) continue;
    return { position: stored.length, what: `the ${name} row is not what its events add up to` };
  }
  return null;
}

function isSame(put: Put, found: StoredRow | null): boolean {
  if (put.row === null || found === null) return put.row === null && found === null;
  return found.row === put.row && found.version === versionAfter(put);
}

/** A ledger row that another run has taken over since is that run's to answer for, and must be what that run made of it. */
async function hasNewOwner(
  store: Store,
  tenant: Tenant,
  run: RunId,
  put: Put,
  found: StoredRow | null,
): Promise<boolean> {
  if (put.table !== "ledger" || found === null || found.version <= versionAfter(put)) return false;
  const owner = (JSON.parse(found.row) as LedgerRow).run_id;
  const theirs = owner === run ? [] : await store.events(tenant, owner, 0);
  if (theirs.length === 0 || theirs.some((event) => event.body === null)) return theirs.length > 0;
  const made = (await refold(store, tenant, owner, theirs)).get(`ledger ${put.key}`);
  return made !== undefined && isSame(made, found);
}

/** The rows that a run's events add up to, by table and key. */
export async function refold(
  store: Store,
  tenant: Tenant,
  run: RunId,
  stored: readonly StoredEvent[],
): Promise<ReadonlyMap<string, Put>> {
  const journal = new Journal(tenant, run);
  const rows = new Map<string, Put>();
  let before: Run = unbornRun(run, tenant);
  for (const bytes of stored) {
    const event = await journal.open(bytes, store);
    const after = evolve(before, event);
    for (const put of rowsOf(before, [event], after)) rows.set(`${put.table} ${put.key}`, put);
    before = after;
  }
  return rows;
}

function same(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.from(left.buffer, left.byteOffset, left.byteLength).equals(right);
}
