import type { Charged, Event, SignalSent } from "../core/event.ts";
import type { Digest, RunId, Tenant } from "../core/id.ts";
import { type PolicyEvent, policyPuts } from "../core/policy-journal.ts";
import { rowsOfHistory, signalPuts } from "../core/rows-of.ts";
import { unbornRun } from "../core/run.ts";
import { type ScheduleEvent, scheduleOf, schedulePuts } from "../core/schedule.ts";
import type { Put, Store, StoredEvent } from "../core/store.ts";
import type { AuditReport } from "./api.ts";
import { isBox } from "./boxes.ts";
import { blobIn, GENESIS, Journal, type Recorded } from "./journal.ts";
import { PART, rowsIn, runsIn } from "./listing.ts";
import { type Fold, isSame, Owners } from "./owners.ts";
import { isPolicyJournal } from "./policies.ts";
import { isSchedule } from "./schedules.ts";
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
  const owners = ownersIn(store, tenant);
  const tallies = await TallyAudit.begin(store, tenant);
  for await (const run of tracedRuns(store, tenant)) {
    const verdict = await verdictOn(store, tenant, run, owners);
    counts.runs += 1;
    counts.events += verdict.events;
    counts.erased += verdict.erased;
    const isWhole = verdict.erased === 0 || isBox(run) || isSchedule(run) || isPolicyJournal(run); // Those charge nothing.
    tallies.add(verdict.charges, isWhole && verdict.broken === null);
    if (verdict.broken !== null) broken.push({ run_id: run, ...verdict.broken });
  }
  return { ...counts, broken, tallies: await tallies.end() };
}

/** Every run that left a trace: those of the journal, whatever the rows say, and those that nothing but a row speaks of. */
async function* tracedRuns(store: Store, tenant: Tenant): AsyncIterable<RunId> {
  yield* runsIn(store, tenant);
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
    const stored = await store.events(tenant, run, 0);
    const verdict = await judged(store, tenant, run, stored, owners);
    if (verdict.broken === null) return verdict;
    // Rows and head of a run that goes on meanwhile are not those of the events that were read.
    const more = await store.events(tenant, run, stored.at(-1)?.position ?? 0, 1);
    if (more.length === 0) return verdict;
  }
}

async function judged(
  store: Store,
  tenant: Tenant,
  run: RunId,
  stored: readonly StoredEvent[],
  owners: Owners,
): Promise<Verdict> {
  const readable = stored.filter((event) => event.body !== null);
  const erased = stored.length - readable.length;
  const counts = { events: stored.length, erased };
  const journal = new Journal(tenant, run);
  const unchained = await brokenChain(store, tenant, run, journal, stored);
  if (unchained !== null) return { ...counts, broken: unchained, charges: [] };
  const events = await opened(store, journal, readable);
  const broken =
    erased > 0
      ? await missingRow(store, tenant, run, stored.length)
      : await brokenRows(store, tenant, run, events, owners);
  return { ...counts, broken, charges: chargesIn(events) };
}

function chargesIn(events: readonly Recorded[]): readonly Charged[] {
  const all: Charged[] = [];
  for (const event of events) if ("charges" in event && event.charges) all.push(...event.charges);
  return all;
}

async function opened(store: Store, journal: Journal, stored: readonly StoredEvent[]): Promise<readonly Recorded[]> {
  const events: Recorded[] = [];
  for (const event of stored) events.push(journal.opened<Recorded>(event) ?? (await journal.open(event, store)));
  return events;
}

/** What an emptied run's rows should say cannot be told any more; that it has one can. Boxes and schedules have none of that name. */
async function missingRow(store: Store, tenant: Tenant, run: RunId, position: number): Promise<Verdict["broken"]> {
  if (isBox(run) || isSchedule(run) || isPolicyJournal(run)) return null;
  return (await store.row(tenant, "run", run)) === null ? { position, what: `the run ${run} row is gone` } : null;
}

async function brokenChain(
  store: Store,
  tenant: Tenant,
  run: RunId,
  journal: Journal,
  stored: readonly StoredEvent[],
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
  const head = await store.head(tenant, run);
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

/** Rows are a cache of the journal: refolding must give the same bytes. */
async function brokenRows(
  store: Store,
  tenant: Tenant,
  run: RunId,
  events: readonly Recorded[],
  owners: Owners,
): Promise<Verdict["broken"]> {
  for (const [name, put] of refold(tenant, run, events)) {
    const found = await store.row(tenant, put.table, put.key);
    if (isSame(put, found) || (await owners.answersFor(put, found, run))) continue;
    return { position: events.length, what: `the ${name} row is not what its events add up to` };
  }
  return null;
}

/** What another journal adds up to; null if it was emptied. One that is not there adds up to nothing. */
function foldOf(store: Store, tenant: Tenant): Fold {
  return async (owner) => {
    const stored = await store.events(tenant, owner, 0);
    if (stored.length === 0) return new Map();
    if (stored.some((event) => event.body === null)) return null;
    return refold(tenant, owner, await opened(store, new Journal(tenant, owner), stored));
  };
}

/** The rows that a run's events add up to, by table and key. */
function refold(tenant: Tenant, run: RunId, events: readonly Recorded[]): ReadonlyMap<string, Put> {
  const rows = new Map<string, Put>();
  for (const put of putsOf(tenant, run, events)) rows.set(`${put.table} ${put.key}`, put);
  return rows;
}

function putsOf(tenant: Tenant, run: RunId, events: readonly Recorded[]): readonly Put[] {
  if (isOfBox(run, events)) return events.flatMap(({ box, request }) => signalPuts(box, run, request));
  if (isPolicyJournal(run)) return policyPuts(run, events as unknown as readonly PolicyEvent[]);
  if (isSchedule(run)) return schedulePuts(run, scheduleOf(events as readonly ScheduleEvent[]));
  return rowsOfHistory(unbornRun(run, tenant), events as readonly Event[]);
}

/** The journal of a signal holds nothing else. */
function isOfBox(run: RunId, events: readonly Recorded[]): events is readonly SignalSent[] {
  return isBox(run) && events.length > 0;
}

function same(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.from(left.buffer, left.byteOffset, left.byteLength).equals(right);
}
