import { type ClosureEvent, closurePuts } from "../../core/closure.ts";
import type { Event } from "../../core/event.ts";
import { type HaltEvent, haltPuts } from "../../core/halt.ts";
import type { Digest, RunId, Tenant } from "../../core/id.ts";
import type { Charged } from "../../core/limits/charged.ts";
import { type PolicyEvent, policyPuts } from "../../core/policy-journal.ts";
import { rowsOfHistory, signalPuts } from "../../core/rows-of.ts";
import { unbornRun } from "../../core/run.ts";
import type { SignalSent } from "../../core/signal.ts";
import type { Put, Store, StoredEvent, StoredJournal, StoredRow } from "../../core/store.ts";
import { type ScheduleEvent, scheduleOf, schedulePuts } from "../../core/time/schedule.ts";
import type { AuditReport } from "../api.ts";
import { journalPartsIn, PART, rowsIn } from "../listing.ts";
import { isBox } from "../post/boxes.ts";
import { isSchedule } from "../post/schedules.ts";
import { isClosureJournal, isHaltJournal } from "../rules/halt-board.ts";
import { isPolicyJournal } from "../rules/policies.ts";
import { blobIn, GENESIS, Journal, type Recorded } from "./journal.ts";
import { type Fold, isSame, Owners } from "./owners.ts";
import { auditStates } from "./state-audit.ts";
import { TallyAudit } from "./tally-audit.ts";

interface Verdict {
  readonly events: number;
  readonly erased: number;
  readonly broken: { readonly position: number; readonly what: string } | null;
  /** What the events that can be read have charged. */
  readonly charges: readonly Charged[];
}

/** Goes over one journal: every body against its hash, every event against its predecessor, every row against its fold. */
export async function auditRun(store: Store, tenant: Tenant, run: RunId): Promise<AuditReport> {
  const { events, erased, broken } = await verdictOn(store, tenant, run, ownersIn(store, tenant));
  return { runs: 1, events, erased, broken: broken === null ? [] : [{ run_id: run, ...broken }], tallies: [] };
}

/** Goes over every journal of a tenant, and over the tallies that all of them add up to. */
export async function auditTenant(store: Store, tenant: Tenant): Promise<AuditReport> {
  const broken: AuditReport["broken"][number][] = [];
  const counts = { runs: 0, events: 0, erased: 0 };
  const tallies = await TallyAudit.begin(store, tenant);
  for await (const { run, verdict } of verdictsIn(store, tenant)) {
    counts.runs += 1;
    counts.events += verdict.events;
    counts.erased += verdict.erased;
    const isWhole = verdict.erased === 0 || !isOfRun(run); // Others charge nothing.
    tallies.add(verdict.charges, isWhole && verdict.broken === null);
    if (verdict.broken !== null) broken.push({ run_id: run, ...verdict.broken });
  }
  broken.push(...(await auditStates(store, tenant)));
  return { ...counts, broken, tallies: await tallies.end() };
}

/** On every run that left a trace: those of the journal, whatever the rows say, and those that nothing but a row speaks of. */
async function* verdictsIn(
  store: Store,
  tenant: Tenant,
): AsyncIterable<{ readonly run: RunId; readonly verdict: Verdict }> {
  const owners = ownersIn(store, tenant);
  for await (const part of journalPartsIn(store, tenant)) {
    // Their rows are asked for together.
    for (const found of await Promise.all(part.map((journal) => findingsOn(store, tenant, journal)))) {
      const { run } = found;
      const verdict = await judged(found, owners);
      yield { run, verdict: verdict.broken === null ? verdict : await verdictOn(store, tenant, run, owners) };
    }
  }
  for await (const run of runsOnlyInRows(store, tenant))
    yield { run, verdict: await verdictOn(store, tenant, run, owners) };
}

async function* runsOnlyInRows(store: Store, tenant: Tenant): AsyncIterable<RunId> {
  let last = "";
  let told: ReadonlySet<string> = new Set(); // Both lists have one order, so that a part of the one answers for many of the other.
  for await (const { key } of rowsIn(store, tenant, "run")) {
    if (!told.has(key)) told = new Set(await store.runs(tenant, last, PART));
    if (!told.has(key) && !(await isTold(store, tenant, key as RunId))) yield key as RunId;
    last = key;
  }
}

async function isTold(store: Store, tenant: Tenant, run: RunId): Promise<boolean> {
  return (await store.head(tenant, run)) !== null || (await store.events(tenant, run, 0, 1)).length > 0;
}

function ownersIn(store: Store, tenant: Tenant): Owners {
  return new Owners(store, tenant, foldOf(store, tenant));
}

async function verdictOn(store: Store, tenant: Tenant, run: RunId, owners: Owners): Promise<Verdict> {
  for (;;) {
    const events = await store.events(tenant, run, 0);
    const head = await store.head(tenant, run);
    const verdict = await judged(await findingsOn(store, tenant, { run, head, events }), owners);
    if (verdict.broken === null) return verdict;
    // Rows and head of a run that goes on meanwhile are not those of the events that were read.
    const more = await store.events(tenant, run, events.at(-1)?.position ?? 0, 1);
    if (more.length === 0) return verdict;
  }
}

/** What a journal says, and what is there of what it should have left. */
interface Findings extends Omit<Verdict, "charges"> {
  readonly run: RunId;
  /** Those that can be read; none if the chain is broken. */
  readonly opened: readonly Recorded[];
  readonly rows: readonly Row[];
}

/** A row as it should be, and as it is. */
interface Row {
  readonly put: Put;
  readonly found: StoredRow | null;
}

async function findingsOn(store: Store, tenant: Tenant, stored: StoredJournal): Promise<Findings> {
  const { run, events } = stored;
  const journal = new Journal(tenant, run);
  const readable = events.filter((event) => event.body !== null);
  const erased = events.length - readable.length;
  const found = { run, events: events.length, erased };
  const unchained = await brokenChain(store, tenant, journal, stored);
  if (unchained !== null) return { ...found, broken: unchained, opened: [], rows: [] };
  const opened = await openedOf(store, journal, readable);
  if (erased > 0) return { ...found, broken: await missingRow(store, tenant, run, events.length), opened, rows: [] };
  const puts = [...refold(tenant, run, opened).values()];
  const rows = await Promise.all(puts.map((put) => store.row(tenant, put.table, put.key)));
  return { ...found, broken: null, opened, rows: puts.map((put, index) => ({ put, found: rows[index] ?? null })) };
}

async function judged({ run, events, erased, broken, opened, rows }: Findings, owners: Owners): Promise<Verdict> {
  const charges = chargesIn(opened);
  for (const { put, found } of rows) {
    if (isSame(put, found) || (await owners.answersFor(put, found, run))) continue;
    const what = `the ${put.table} ${put.key} row is not what its events add up to`;
    return { events, erased, broken: { position: events, what }, charges };
  }
  return { events, erased, broken, charges };
}

function chargesIn(events: readonly Recorded[]): readonly Charged[] {
  const all: Charged[] = [];
  for (const event of events) if ("charges" in event && event.charges) all.push(...event.charges);
  return all;
}

async function openedOf(store: Store, journal: Journal, stored: readonly StoredEvent[]): Promise<readonly Recorded[]> {
  const events: Recorded[] = [];
  for (const event of stored) events.push(journal.opened<Recorded>(event) ?? (await journal.open(event, store)));
  return events;
}

/** What an emptied run's rows should say cannot be told any more; that it has one can. Boxes and schedules have none of that name. */
async function missingRow(store: Store, tenant: Tenant, run: RunId, position: number): Promise<Verdict["broken"]> {
  if (!isOfRun(run)) return null;
  return (await store.row(tenant, "run", run)) === null ? { position, what: `the run ${run} row is gone` } : null;
}

async function brokenChain(
  store: Store,
  tenant: Tenant,
  journal: Journal,
  { head, events: stored }: StoredJournal,
): Promise<Verdict["broken"]> {
  let previous: Uint8Array = GENESIS;
  if (stored.length === 0) return { position: 0, what: "its journal is gone; a row or a head is all that is left" };
  for (const [index, event] of stored.entries()) {
    const { position } = event;
    if (position !== index + 1) return { position, what: `event ${index + 1} is missing` };
    if (event.body === null && event.body_hash === null)
      return { position, what: "its body is gone and no hash of it was kept" };
    if (!journal.isIntact(event, previous))
      return { position, what: "it is not what was written: its hash does not match" };
    const blob = event.body === null ? null : blobIn(event.body);
    const flaw = blob === null ? null : await brokenBlob(store, tenant, journal, blob);
    if (flaw !== null) return { position, what: flaw };
    previous = event.hash;
  }
  if (head === null || head.position !== stored.length || !same(head.hash, previous)) {
    return {
      position: stored.length,
      what: `the head says ${head?.position ?? 0} events, the journal has ${stored.length}`,
    };
  }
  return null;
}

async function brokenBlob(store: Store, tenant: Tenant, journal: Journal, name: Digest): Promise<string | null> {
  const bytes = await store.blob(tenant, name);
  if (bytes === null) return `its blob ${name} is gone`;
  return journal.blobName(bytes) === name ? null : `its blob ${name} was changed`;
}

/** What another journal adds up to; null if it was emptied. One that is not there adds up to nothing. */
function foldOf(store: Store, tenant: Tenant): Fold {
  return async (owner) => {
    const stored = await store.events(tenant, owner, 0);
    if (stored.length === 0) return new Map();
    if (stored.some((event) => event.body === null)) return null;
    return refold(tenant, owner, await openedOf(store, new Journal(tenant, owner), stored));
  };
}

/** The rows that a run's events add up to, by table and key: a cache of the journal, so that both must be the same to the byte. */
function refold(tenant: Tenant, run: RunId, events: readonly Recorded[]): ReadonlyMap<string, Put> {
  const rows = new Map<string, Put>();
  for (const put of putsOf(tenant, run, events)) rows.set(`${put.table} ${put.key}`, put);
  return rows;
}

function putsOf(tenant: Tenant, run: RunId, events: readonly Recorded[]): readonly Put[] {
  if (isOfBox(run, events)) return events.flatMap(({ box, request }) => signalPuts(box, run, request));
  if (isClosureJournal(run)) return closurePuts(run, events as unknown as readonly ClosureEvent[]);
  if (isHaltJournal(run)) return haltPuts(run, events as unknown as readonly HaltEvent[]);
  if (isPolicyJournal(run)) return policyPuts(run, events as unknown as readonly PolicyEvent[]);
  if (isSchedule(run)) return schedulePuts(run, scheduleOf(events as readonly ScheduleEvent[]));
  return rowsOfHistory(unbornRun(run, tenant), events as readonly Event[]);
}

/** Not of a signal, of a schedule, or of what a tenant has said for all of its runs. */
function isOfRun(journal: RunId): boolean {
  return !(
    isBox(journal) ||
    isSchedule(journal) ||
    isPolicyJournal(journal) ||
    isHaltJournal(journal) ||
    isClosureJournal(journal)
  );
}

/** The journal of a signal holds nothing else. */
function isOfBox(run: RunId, events: readonly Recorded[]): events is readonly SignalSent[] {
  return isBox(run) && events.length > 0;
}

function same(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.from(left.buffer, left.byteOffset, left.byteLength).equals(right);
}
