import { hash } from "node:crypto";
import { evolve } from "../core/evolve.ts";
import type { RunId, Tenant } from "../core/id.ts";
import { rowsOf } from "../core/rows-of.ts";
import { type Run, unbornRun } from "../core/run.ts";
import type { Put, Store, StoredEvent } from "../core/store.ts";
import type { AuditReport } from "./api.ts";
import { bodyHash, GENESIS, Journal } from "./journal.ts";

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
    const body = event.body === null ? event.body_hash : bodyHash(event.body);
    if (body === null) return { position, what: "its body is gone and no hash of it was kept" };
    const expected = journal.hash(event, body, previous);
    if (!same(expected, event.hash)) return { position, what: "it is not what was written: its hash does not match" };
    const blob = await brokenBlob(store, tenant, event);
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

async function brokenBlob(store: Store, tenant: Tenant, { body }: StoredEvent): Promise<string | null> {
  if (body === null || !body.startsWith('{"$blob":')) return null;
  const { $blob } = JSON.parse(body) as { readonly $blob: Parameters<Store["blob"]>[1] };
  const bytes = await store.blob(tenant, $blob);
  if (bytes === null) return `its blob ${$blob} is gone`;
  return hash("sha256", bytes) === $blob ? null : `its blob ${$blob} was changed`;
}

/** Rows are a cache of the journal: refolding must give the same bytes. */
async function brokenRows(
  store: Store,
  tenant: Tenant,
  run: RunId,
  stored: readonly StoredEvent[],
): Promise<Verdict["broken"]> {
  for (const [name, row] of await refold(store, tenant, run, stored)) {
    const found = await store.row(tenant, row.table, row.key);
    const mine = row.row === null || isMine(run, row, found?.row ?? null);
    if (mine && (found?.row ?? null) !== row.row)
      return { position: stored.length, what: `the ${name} row is not what its events add up to` };
  }
  return null;
}

/** A ledger row that another run has taken over since is that run's to answer for. */
function isMine(run: RunId, { table }: Put, found: string | null): boolean {
  return table !== "ledger" || found === null || (JSON.parse(found) as { readonly run_id: RunId }).run_id === run;
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
