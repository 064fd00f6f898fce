import type { Clock } from "../../core/ports/clock.ts";
import { appendInOrder, assertValidEntry, checkEntry } from "../../core/store/check-entry.ts";
import { leaseLength } from "../../core/store/lease-length.ts";
import { defaultQueue, type LeaseCounts, type QueuedRun, selectFairly } from "../../core/store/select-fairly.ts";
import type {
  AppendResult,
  Claim,
  Entry,
  Head,
  Query,
  RunLease,
  Store,
  StoredEvent,
  StoredRow,
} from "../../core/store/store.ts";
import { indexedRowFields, type TimerRow } from "../../core/store/tables.ts";
import { assert } from "../../core/values/assert.ts";
import type { Digest, Epoch, Instant, RunId, StepId, Tenant, WorkerId } from "../../core/values/ids.ts";
import { handoverMethods, type LeaseTime, releaseLease } from "./memory-handover.ts";
import { memorySearches } from "./memory-searches.ts";
import { type MemoryLease, MemoryTables, type TableDump } from "./memory-tables.ts";
import { endWorker, notLeftToOthers, rulesElsewhere, workerMethods } from "./memory-workers.ts";
import { compareKeyPaths } from "./sorted-table.ts";

/** The reference implementation of the store port. Its data ends with the process. */
export interface MemoryStore extends Store {
  dump(): TableDump;
  /** Ends the leases of a worker: nothing that it writes later lands, even before another worker claims its runs. */
  evict(worker: WorkerId): void;
}

export interface MemoryStoreOptions {
  readonly clock?: Clock;
  /** How long a lease lasts without being renewed, in milliseconds. */
  readonly leaseMs?: number;
  /** How a lease ends that is not released: when it is not renewed in time (default), or when its worker is evicted. */
  readonly leasesEnd?: "by_time" | "by_eviction";
  /** The initial data; empty by default. */
  readonly tables?: MemoryTables;
}

const systemClock: Clock = { now: () => Date.now() as Instant };

export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  const { clock = systemClock, tables = new MemoryTables(), leasesEnd = "by_time" } = options;
  const leaseMs = leaseLength(options.leaseMs);
  const time = { clock, leaseMs: leasesEnd === "by_time" ? leaseMs : null };
  return {
    clock,
    leaseMs,
    boot: "memory",
    ...journalMethods(tables),
    ...readMethods(tables),
    ...memorySearches(tables),
    ...leaseMethods(tables, time),
    ...handoverMethods(tables, time),
    ...workerMethods(tables, time),
    ...markerMethods(tables),
    dump: () => tables.dump(),
    evict: (worker) => endWorker(tables, worker),
    changes: () => null,
    truncateLog: async () => "empty",
    beginMaintenance: async () => () => {},
    close: async () => {},
  };
}

type StoreMethods<Name extends keyof Store> = Pick<Store, Name>;

function journalMethods(tables: MemoryTables): StoreMethods<"append" | "events" | "journals" | "head" | "erase"> {
  const appendEntry = (entry: Entry): AppendResult => {
    const result = checkEntry(entry, tables);
    if (result.landed) tables.write(entry);
    return result;
  };
  return {
    append: async (entries) => {
      entries.forEach(assertValidEntry);
      return appendInOrder(entries, appendEntry);
    },
    events: async (tenant, run, after, most = Number.POSITIVE_INFINITY) =>
      (tables.events.get(tenant, run) ?? []).slice(after, after + most),
    journals: async (tenant, after, most) =>
      tables.events
        .after(tenant, after, most)
        .map(([run, events]) => ({ run: run as RunId, head: headOf(events), events: events.slice() })),
    head: async (tenant, run) => headOf(tables.events.get(tenant, run) ?? []),
    erase: async ({ tenant, run, position, keep, blobs }, hashOf) => {
      if (tables.position(tenant, run) !== position) return null;
      for (const hash of blobs) tables.blobs.remove(tenant, hash);
      const events = tables.events.get(tenant, run) ?? [];
      const erased = events.map((event) => (keep.includes(event.position) ? event : eraseBody(event, hashOf)));
      if (events.length > 0) tables.events.set([tenant, run], erased);
      return erased.filter((event, index) => event !== events[index]).length;
    },
  };
}

function headOf(events: readonly StoredEvent[]): Head | null {
  const last = events.at(-1);
  return last === undefined ? null : { position: last.position, hash: last.hash };
}

function eraseBody(event: StoredEvent, hashOf: (body: string) => Uint8Array): StoredEvent {
  return event.body === null ? event : { ...event, body: null, body_hash: hashOf(event.body) };
}

function readMethods(
  tables: MemoryTables,
): StoreMethods<"row" | "list" | "wrongCopies" | "used" | "runs" | "tallies" | "putBlob" | "blob"> {
  return {
    row: async (tenant, table, key) => tables.row(tenant, table, key),
    list: async (tenant, query) => {
      const { table, order, limit } = query;
      assert(isIndexedQuery(query), `${table} has an index on ${query.where?.field}`);
      const rows = tables.rows(table).sorted(tenant);
      const found = rows.map(([, row]) => row).filter((row) => matchesQuery(row, query));
      return (order === "oldest" ? found : found.reverse()).slice(0, limit);
    },
    wrongCopies: async () => [],
    used: async (tenant, tally) => tables.used(tenant, tally),
    runs: async (tenant, after, most) => tables.events.after(tenant, after, most).map(([run]) => run as RunId),
    tallies: async (tenant, after, most) =>
      tables.tallies.after(tenant, after, most).map(([tally, used]) => ({ tally, used })),
    putBlob: async (tenant, hash, bytes) => tables.blobs.set([tenant, hash], bytes.slice()),
    blob: async (tenant, hash) => tables.blobs.get(tenant, hash)?.slice() ?? null,
  };
}

function isIndexedQuery({ table, where }: Query): boolean {
  return where === undefined || indexedRowFields[table]?.includes(where.field) === true;
}

function matchesQuery({ key, row }: StoredRow, { where, after, order }: Query): boolean {
  if (after !== undefined && Math.sign(compareKeyPaths([key], [after])) !== (order === "oldest" ? 1 : -1)) return false;
  return where === undefined || JSON.parse(row)[where.field] === where.equals;
}

function leaseMethods(
  tables: MemoryTables,
  { clock, leaseMs }: LeaseTime,
): StoreMethods<"claim" | "claimDue" | "renew" | "predecessor" | "release" | "holdings" | "nextDue"> {
  const isFree = (lease: MemoryLease | undefined): boolean => lease === undefined || !isHeld(lease, clock.now());
  const until = (): number | null => (leaseMs === null ? null : clock.now() + leaseMs);
  const take = (worker: WorkerId, tenant: Tenant, run: RunId): Claim => {
    const epoch = ((tables.epoch(tenant, run) ?? 0) + 1) as Epoch;
    const last = tables.leases.get(tenant, run);
    const prior = last?.worker ?? last?.prior ?? null;
    const ask = last === undefined || last.ask?.by === worker ? null : last.ask;
    tables.leases.set([tenant, run], { epoch, worker, until: until(), prior, since: clock.now(), ask });
    return { tenant, run, worker, epoch };
  };
  const isLost = ({ tenant, run, worker, epoch }: Claim): boolean => {
    const lease = tables.leases.get(tenant, run);
    return lease?.epoch !== epoch || lease.worker !== worker;
  };
  return {
    claim: async (worker, tenant, run) => {
      const lease = tables.leases.get(tenant, run);
      return isFree(lease) || lease?.worker === worker ? take(worker, tenant, run) : null;
    },
    claimDue: async (worker, limit, terms = {}) => {
      const { offers = [], rules = null } = terms;
      if (rules !== null) tables.workers.set(worker, { rules, offers, until: until() });
      const elsewhere = rulesElsewhere(tables, rules, clock.now());
      const free = timersByDueTime(tables).filter(
        (timer) => isFree(tables.leases.get(timer.tenant, timer.run)) && !elsewhere.has(timer.rules),
      );
      const due = free.filter(({ at }) => at !== null && at <= clock.now());
      const needing = free.filter((timer) => !due.includes(timer) && timer.needs.some((need) => offers.includes(need)));
      const takeOf = (waiters: readonly QueuedRun[], most: number): readonly Claim[] =>
        selectFairly(waiters, most, terms, countLeases(tables, clock.now())).map(({ tenant, run }) =>
          take(worker, tenant, run),
        );
      const taken = takeOf(due.filter(notLeftToOthers(tables, worker, terms, clock.now())), limit);
      return [...taken, ...takeOf(needing.toSorted(compareByRun), limit - taken.length)];
    },
    renew: async (_worker, claims) => {
      for (const { tenant, run } of claims.filter((claim) => !isLost(claim)))
        tables.leases.set([tenant, run], { ...(tables.leases.get(tenant, run) as MemoryLease), until: until() });
      return claims.filter(isLost);
    },
    predecessor: async (claim) => (isLost(claim) ? null : (tables.leases.get(claim.tenant, claim.run)?.prior ?? null)),
    release: async (claim) => {
      if (!isLost(claim)) releaseLease(tables, claim, clock.now(), until());
    },
    holdings: async (tenant, after, most) =>
      tables.leases
        .after(tenant, after, Number.POSITIVE_INFINITY)
        .filter(([, lease]) => !isFree(lease))
        .slice(0, most)
        .map(([run, { epoch, worker, until, since }]) => {
          return { run, epoch, worker, until, since, queue: queueOf(tables, tenant, run) } as RunLease;
        }),
    nextDue: async () =>
      (timersByDueTime(tables).find(({ at }) => at !== null && at > clock.now())?.at ?? null) as Instant | null,
  };
}

interface Timer extends QueuedRun {
  readonly at: number | null;
  readonly needs: readonly string[];
  readonly rules: Digest | null;
  readonly tools: readonly string[];
}

/** Returns the timers of all tenants, the earliest first. */
function timersByDueTime(tables: MemoryTables): readonly Timer[] {
  const all = tables.rows("timer").sorted();
  return all
    .map(([[tenant, run], { row }]) => {
      const { due_at: at, queue = defaultQueue, priority = 0, ...terms } = JSON.parse(row) as TimerRow;
      const { needs = [], rules = null, tools = [] } = terms;
      return { at, tenant: tenant as Tenant, run: run as RunId, queue, priority, needs, rules, tools };
    })
    .sort((left, right) => (left.at ?? 0) - (right.at ?? 0));
}

function compareByRun(left: QueuedRun, right: QueuedRun): number {
  return compareKeyPaths([left.tenant, left.run], [right.tenant, right.run]);
}

function queueOf(tables: MemoryTables, tenant: Tenant, run: string): string | null {
  const timer = tables.row(tenant, "timer", run);
  const { due_at = null, queue = defaultQueue } = timer === null ? {} : (JSON.parse(timer.row) as TimerRow);
  return due_at === null ? null : queue;
}

/** A lease without an end is held as long as it has a worker. */
function isHeld({ worker, until }: MemoryLease, now: number): boolean {
  return worker !== null && (until === null || until > now);
}

/** Counts the leases that are held. */
function countLeases(tables: MemoryTables, now: number): LeaseCounts {
  const load = { queues: new Map<string, number>(), tenants: new Map<string, number>() };
  const add = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const [[tenant, run], lease] of tables.leases.sorted()) {
    if (!isHeld(lease, now)) continue;
    add(load.tenants, String(tenant));
    const queue = queueOf(tables, tenant as Tenant, String(run));
    if (queue !== null) add(load.queues, queue);
  }
  return load;
}

function markerMethods(tables: MemoryTables): StoreMethods<"mark" | "marked" | "claims"> {
  return {
    mark: async ({ tenant, run, worker, epoch }, step, attempt) => {
      const lease = tables.leases.get(tenant, run);
      if (lease?.epoch !== epoch || lease.worker !== worker) return false;
      if (tables.markers.get(tenant, run, step, attempt) === undefined)
        tables.sent.set([tenant, run], (tables.sent.get(tenant, run) ?? 0) + 1);
      tables.markers.set([tenant, run, step, attempt], epoch);
      return true;
    },
    marked: async (tenant, run, step, attempt, boot) => {
      if (boot !== "memory") return "unknown";
      return tables.markers.get(tenant, run, step, attempt) === undefined ? "no" : "yes";
    },
    claims: async (tenant, after, most) => {
      const markers = tables.markers.sorted(tenant).map(([[, run, step, attempt], epoch]) => {
        return { run, step: step as StepId, attempt: attempt as number, epoch };
      });
      // A run that has a marker has a lease.
      return tables.leases.after(tenant, after, most).map(([run, { epoch, worker }]) => ({
        run: run as RunId,
        epoch,
        lease: worker === null ? null : { worker, epoch },
        markers: markers.filter((marker) => marker.run === run).map(({ run: _, ...marker }) => marker),
        sent: tables.sent.get(tenant, run) ?? 0,
      }));
    },
  };
}
