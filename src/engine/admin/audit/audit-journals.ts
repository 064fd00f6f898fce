import type { TallyCharge } from "../../../core/limits/tally-charge.ts";
import { rowVersionAfter } from "../../../core/store/check-entry.ts";
import {
  type Put,
  type Store,
  type StoredEvent,
  type StoredJournal,
  type StoredRow,
  sharedTenant,
} from "../../../core/store/store.ts";
import type { Table } from "../../../core/store/tables.ts";
import type { Digest, RunId, Tenant } from "../../../core/values/ids.ts";
import type { AuditReport } from "../../api/engine-api.ts";
import { blobNameIn, GENESIS_HASH, JournalCodec, type JournalEvent } from "../../journal/journal-codec.ts";
import { listJournalBatches } from "../../journal/store-listing.ts";
import { LeaseAudit, type LeaseAuditJournal } from "./audit-leases.ts";
import { auditStates } from "./audit-states.ts";
import { ledgerIn } from "./erased-run-allows-row.ts";
import { type AuditedStore, explainRow, parseRow, rowOwner } from "./explain-row.ts";
import { isSameRow, JournalFoldCache } from "./journal-fold-cache.ts";
import { isRunJournal, openEvents, rowsOfEvents } from "./rows-of-events.ts";
import { TallyAuditor } from "./tally-auditor.ts";
import { UnexplainedRows } from "./unexplained-rows.ts";

interface JournalAudit {
  readonly events: number;
  readonly erased: number;
  readonly broken: { readonly position: number; readonly what: string } | null;
  /** The charges of all readable events. */
  readonly charges: readonly TallyCharge[];
  /** The stored rows that are accounted for: they equal the fold of the events, or `broken` reports them. */
  readonly explained: readonly Put[];
}

/** Checks one journal: bodies against hashes, events against their predecessors, rows against the folded events. */
export async function auditRun(store: Store, tenant: Tenant, run: RunId): Promise<AuditReport> {
  const { events, erased, broken } = await auditJournal(auditedStore(store, tenant), run);
  const found = broken === null ? [] : [{ run_id: run, ...broken }];
  return { runs: 1, events, erased, broken: found, rows: [], tallies: [] };
}

/** Checks every journal, row, state snapshot and tally of a tenant, and the rows that apply to all tenants. */
export async function auditTenant(store: Store, tenant: Tenant): Promise<AuditReport> {
  const own = await auditJournals(auditedStore(store, tenant));
  const shared = await auditJournals(auditedStore(store, sharedTenant));
  return {
    ...own,
    broken: [...own.broken, ...shared.broken, ...(await auditStates(store, tenant))],
    rows: [...own.rows, ...shared.rows],
  };
}

async function auditJournals(audited: AuditedStore): Promise<AuditReport> {
  const broken: AuditReport["broken"][number][] = [];
  const counts = { runs: 0, events: 0, erased: 0 };
  const tallies = await TallyAuditor.begin(audited.store, audited.tenant);
  const census = new UnexplainedRows();
  const claims = new LeaseAudit(audited);
  for await (const { run, verdict } of auditAllJournals(audited, claims)) {
    counts.runs += 1;
    counts.events += verdict.events;
    counts.erased += verdict.erased;
    const isWhole = verdict.erased === 0 || !isRunJournal(run); // Other journals charge nothing.
    tallies.add(verdict.charges, isWhole && verdict.broken === null);
    for (const { table, key } of verdict.explained) census.countExplained(table, key);
    if (verdict.broken !== null) broken.push({ run_id: run, ...verdict.broken });
  }
  const rows = [
    ...(await census.findUnexplained(audited)),
    ...(await findWrongCopies(audited)),
    ...(await claims.end()),
  ];
  return { ...counts, broken, rows, tallies: await tallies.end() };
}

async function findWrongCopies({ store, tenant }: AuditedStore): Promise<AuditReport["rows"]> {
  const what = "an index or queue of the store differs from it";
  return (await store.wrongCopies(tenant)).map((row) => ({ ...row, what }));
}

function auditedStore(store: Store, tenant: Tenant): AuditedStore {
  return { store, tenant, folds: new JournalFoldCache(store, tenant) };
}

/** Yields an audit of every journal. */
async function* auditAllJournals(
  audited: AuditedStore,
  claims: LeaseAudit,
): AsyncIterable<{ readonly run: RunId; readonly verdict: JournalAudit }> {
  const { store, tenant } = audited;
  for await (const part of listJournalBatches(store, tenant)) {
    // The rows of a batch are read concurrently.
    const batch = await Promise.all(part.map((journal) => readFindings(audited, journal, "present")));
    await claims.addBatch(batch.map(toClaimedJournal));
    for (const found of batch) {
      const { run } = found;
      const verdict = await compareRows(audited, found);
      yield { run, verdict: verdict.broken === null ? verdict : await auditJournal(audited, run) };
    }
  }
}

function toClaimedJournal({ run, opened, erased, broken }: JournalFindings): LeaseAuditJournal {
  return { run, events: opened, isWhole: erased === 0 && broken === null };
}

async function auditJournal(audited: AuditedStore, run: RunId): Promise<JournalAudit> {
  const { store, tenant } = audited;
  for (;;) {
    const events = await store.events(tenant, run, 0);
    const head = await store.head(tenant, run);
    const verdict = await compareRows(audited, await readFindings(audited, { run, head, events }, "all"));
    if (verdict.broken === null) return verdict;
    // The run may have appended events after they were read; then it is audited again.
    const more = await store.events(tenant, run, events.at(-1)?.position ?? 0, 1);
    if (more.length === 0) return verdict;
  }
}

/** The events of a journal, and the rows they should have produced. */
interface JournalFindings extends Omit<JournalAudit, "charges" | "explained"> {
  readonly run: RunId;
  /** The readable events; empty if the chain is broken. */
  readonly opened: readonly JournalEvent[];
  readonly rows: readonly RowComparison[];
}

/** A row as the events imply it, and as it is stored. */
interface RowComparison {
  readonly put: Put;
  readonly found: StoredRow | null;
}

/** `which`: the rows to read. The census finds rows that should be absent, without reading each of them. */
async function readFindings(
  { store, tenant }: AuditedStore,
  stored: StoredJournal,
  which: "all" | "present",
): Promise<JournalFindings> {
  const { run, events } = stored;
  const journal = new JournalCodec(tenant, run);
  const readable = events.filter((event) => event.body !== null);
  const erased = events.length - readable.length;
  const found = { run, events: events.length, erased };
  const unchained = await findChainBreak(store, tenant, journal, stored);
  if (unchained !== null) return { ...found, broken: unchained, opened: [], rows: [] };
  const opened = await openEvents(store, journal, readable);
  if (erased > 0)
    return { ...found, broken: await findLostRow(store, tenant, run, { events, opened }), opened, rows: [] };
  const implied = [...rowsOfEvents(tenant, run, opened).values()];
  const puts = which === "all" ? implied : implied.filter(({ row }) => row !== null);
  const rows = await Promise.all(puts.map((put) => store.row(tenant, put.table, put.key)));
  return { ...found, broken: null, opened, rows: puts.map((put, index) => ({ put, found: rows[index] ?? null })) };
}

async function compareRows(
  audited: AuditedStore,
  { run, events, erased, broken, opened, rows }: JournalFindings,
): Promise<JournalAudit> {
  const charges = listCharges(opened);
  const explained: Put[] = [];
  for (const { put, found } of rows) {
    if (isSameRow(put, found)) {
      if (found !== null) explained.push(put);
      continue;
    }
    if (await isTakenOver(audited, put, found, run)) continue;
    if (found !== null) explained.push(put);
    const what = `the ${put.table} ${put.key} row does not equal the fold of its events`;
    return { events, erased, broken: { position: events, what }, charges, explained };
  }
  return { events, erased, broken, charges, explained };
}

/** Tables whose rows move between journals. A row names its last journal. */
const sharedTables: readonly Table[] = ["ledger", "signal", "project", "request"];

/** Returns whether a journal other than `not` has taken over the row, and the row matches that journal. */
async function isTakenOver(audited: AuditedStore, put: Put, found: StoredRow | null, not: RunId): Promise<boolean> {
  if (!sharedTables.includes(put.table) || found === null || found.version <= rowVersionAfter(put)) return false;
  return rowOwner(put.table, found) !== not && (await explainRow(audited, put.table, found)) === null;
}

function listCharges(events: readonly JournalEvent[]): readonly TallyCharge[] {
  const all: TallyCharge[] = [];
  for (const event of events) if ("charges" in event && event.charges) all.push(...event.charges);
  return all;
}

/** The rows of an erased run cannot be folded. Its own row must exist, and the ledger rows of the receipts it kept. */
async function findLostRow(
  store: Store,
  tenant: Tenant,
  run: RunId,
  { events, opened }: { readonly events: readonly StoredEvent[]; readonly opened: readonly JournalEvent[] },
): Promise<JournalAudit["broken"]> {
  const count = events.length;
  const readable = events.filter(({ body }) => body !== null);
  if (!isRunJournal(run)) return null;
  if ((await store.row(tenant, "run", run)) === null) return { position: count, what: `the run ${run} row is missing` };
  for (const [index, event] of opened.entries()) {
    const { key, version } = ledgerIn(event) ?? {};
    if (key === undefined || version === undefined) continue;
    const { position } = readable[index] as StoredEvent;
    const found = await store.row(tenant, "ledger", key);
    const isOlder = found === null || found.version < version;
    if (isOlder || (found.version === version && parseRow(found.row)?.receipt !== position))
      return { position, what: `the ledger ${key} row does not name this receipt` };
  }
  return null;
}

async function findChainBreak(
  store: Store,
  tenant: Tenant,
  journal: JournalCodec,
  { head, events: stored }: StoredJournal,
): Promise<JournalAudit["broken"]> {
  let previous: Uint8Array = GENESIS_HASH;
  if (stored.length === 0) return { position: 0, what: "its journal is missing; only a row or a head exists" };
  for (const [index, event] of stored.entries()) {
    const { position } = event;
    if (position !== index + 1) return { position, what: `event ${index + 1} is missing` };
    if (event.body === null && event.body_hash === null)
      return { position, what: "its body is missing, and so is the hash of its body" };
    if (event.body !== null && event.body_hash !== null)
      return { position, what: "it has a body and the hash of an erased body" };
    if (!journal.isIntact(event, previous)) return { position, what: "it was changed: its hash does not match" };
    const blob = event.body === null ? null : blobNameIn(event.body);
    const problem = blob === null ? null : await findBlobProblem(store, tenant, journal, blob);
    if (problem !== null) return { position, what: problem };
    previous = event.hash;
  }
  if (head === null || head.position !== stored.length || !sameBytes(head.hash, previous)) {
    return {
      position: stored.length,
      what: `the head says ${head?.position ?? 0} events, the journal has ${stored.length}`,
    };
  }
  return null;
}

async function findBlobProblem(
  store: Store,
  tenant: Tenant,
  journal: JournalCodec,
  name: Digest,
): Promise<string | null> {
  const bytes = await store.blob(tenant, name);
  if (bytes === null) return `its blob ${name} is missing`;
  return journal.blobName(bytes) === name ? null : `its blob ${name} was changed`;
}

function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.from(left.buffer, left.byteOffset, left.byteLength).equals(right);
}
