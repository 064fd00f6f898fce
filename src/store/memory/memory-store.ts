import { assert } from "../../core/assert.ts";
import type { Epoch, Instant, RunId, Tenant, WorkerId } from "../../core/id.ts";
import { assertSound, judge, landInOrder } from "../../core/judge.ts";
import { leaseOf } from "../../core/lease.ts";
import { indexed, type TimerRow } from "../../core/rows.ts";
import type { Claim, Entry, Head, Holding, Landing, Query, Store, StoredEvent, StoredRow } from "../../core/store.ts";
import type { Clock } from "../../core/time/clock.ts";
import { type Load, queueDefault, turns, type Waiter } from "../../core/turns.ts";
import { comparePaths } from "./shelf.ts";
import { type Dump, type Lease, Tables } from "./tables.ts";

/** The reference: the shortest store that keeps every promise of the port. It forgets when the process ends. */
export interface MemoryStore extends Store {
  dump(): Dump;
}

export interface MemoryStoreOptions {
  readonly clock?: Clock;
  /** How long a claim holds without being renewed. */
  readonly leaseMs?: number;
  /** What to start from; empty unless said. */
  readonly tables?: Tables;
}

const systemClock: Clock = { now: () => Date.now() as Instant };

export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  const { clock = systemClock, tables = new Tables() } = options;
  const leaseMs = leaseOf(options.leaseMs);
  return {
    clock,
    leaseMs,
    boot: "memory",
    ...journal(tables),
    ...reads(tables),
    ...leases(tables, clock, leaseMs),
    ...markers(tables),
    dump: () => tables.dump(),
    // There is no other process that could write here or be the worker.
    watch: () => () => {},
    lockWorker: async () => {},
    close: async () => {},
  };
}

type Part<Name extends keyof Store> = Pick<Store, Name>;

function journal(tables: Tables): Part<"append" | "events" | "journals" | "head" | "positions" | "erase"> {
  const land = (entry: Entry): Landing => {
    const landing = judge(entry, tables);
    if (landing.landed) tables.write(entry);
    return landing;
  };
  return {
    append: async (entries) => {
      entries.forEach(assertSound);
      return landInOrder(entries, land);
    },
    events: async (tenant, run, after, most = Number.POSITIVE_INFINITY) =>
      (tables.events.get(tenant, run) ?? []).slice(after, after + most),
    journals: async (tenant, after, most) =>
      tables.events
        .after(tenant, after, most)
        .map(([run, events]) => ({ run: run as RunId, head: headOf(events), events: events.slice() })),
    head: async (tenant, run) => headOf(tables.events.get(tenant, run) ?? []),
    positions: async (runs) => runs.map(({ tenant, run }) => tables.position(tenant, run)),
    erase: async ({ tenant, run, position, keep, blobs }, hashOf) => {
      if (tables.position(tenant, run) !== position) return null;
      for (const hash of blobs) tables.blobs.remove(tenant, hash);
      const events = tables.events.get(tenant, run) ?? [];
      const erased = events.map((event) => (keep.includes(event.position) ? event : erase(event, hashOf)));
      if (events.length > 0) tables.events.set([tenant, run], erased);
      return erased.filter((event, index) => event !== events[index]).length;
    },
  };
}

function headOf(events: readonly StoredEvent[]): Head | null {
  const last = events.at(-1);
  return last === undefined ? null : { position: last.position, hash: last.hash };
}

function erase(event: StoredEvent, hashOf: (body: string) => Uint8Array): StoredEvent {
  return event.body === null ? event : { ...event, body: null, body_hash: hashOf(event.body) };
}

function reads(tables: Tables): Part<"row" | "list" | "used" | "runs" | "tallies" | "putBlob" | "blob"> {
  return {
    row: async (tenant, table, key) => tables.row(tenant, table, key),
    list: async (tenant, query) => {
      const { table, order, limit } = query;
      assert(isAnswerable(query), `${table} can be asked for ${query.where?.field}`);
      const rows = tables.rows(table).sorted(tenant);
      const found = rows.map(([, row]) => row).filter((row) => matches(row, query));
      return (order === "oldest" ? found : found.reverse()).slice(0, limit);
    },
    used: async (tenant, tally) => tables.used(tenant, tally),
    runs: async (tenant, after, most) => tables.events.after(tenant, after, most).map(([run]) => run as RunId),
    tallies: async (tenant, after, most) =>
      tables.tallies.after(tenant, after, most).map(([tally, used]) => ({ tally, used })),
    putBlob: async (tenant, hash, bytes) => tables.blobs.set([tenant, hash], bytes.slice()),
    blob: async (tenant, hash) => tables.blobs.get(tenant, hash)?.slice() ?? null,
  };
}

function isAnswerable({ table, where }: Query): boolean {
  return where === undefined || indexed[table]?.includes(where.field) === true;
}

function matches({ key, row }: StoredRow, { where, after, order }: Query): boolean {
  if (after !== undefined && Math.sign(comparePaths([key], [after])) !== (order === "oldest" ? 1 : -1)) return false;
  return where === undefined || JSON.parse(row)[where.field] === where.equals;
}

function leases(
  tables: Tables,
  clock: Clock,
  leaseMs: number,
): Part<"claim" | "claimDue" | "renew" | "predecessor" | "release" | "holdings" | "nextDue"> {
  const isFree = (lease: Lease | undefined): boolean => lease === undefined || lease.until <= clock.now();
  const take = (worker: WorkerId, tenant: Tenant, run: RunId): Claim => {
    const epoch = ((tables.epoch(tenant, run) ?? 0) + 1) as Epoch;
    const prior = tables.leases.get(tenant, run)?.worker ?? null;
    tables.leases.set([tenant, run], { epoch, worker, until: clock.now() + leaseMs, prior, since: clock.now() });
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
      const { offers = [] } = terms;
      const free = timers(tables).filter(({ tenant, run }) => isFree(tables.leases.get(tenant, run)));
      const due = free.filter(({ at }) => at !== null && at <= clock.now());
      const needing = free.filter((timer) => !due.includes(timer) && timer.needs.some((need) => offers.includes(need)));
      const takeOf = (waiters: readonly Waiter[], most: number): readonly Claim[] =>
        turns(waiters, most, terms, loadOf(tables, clock.now())).map(({ tenant, run }) => take(worker, tenant, run));
      const taken = takeOf(due, limit);
      return [...taken, ...takeOf(needing.toSorted(byName), limit - taken.length)];
    },
    renew: async (claims) => {
      const kept = claims.filter((claim) => !isLost(claim));
      for (const { tenant, run, worker, epoch } of kept) {
        const lease = tables.leases.get(tenant, run) as Lease;
        tables.leases.set([tenant, run], { ...lease, epoch, worker, until: clock.now() + leaseMs });
      }
      return claims.filter(isLost);
    },
    predecessor: async (claim) => (isLost(claim) ? null : (tables.leases.get(claim.tenant, claim.run)?.prior ?? null)),
    release: async (claim) => {
      const { tenant, run, epoch } = claim;
      if (!isLost(claim)) tables.leases.set([tenant, run], { epoch, worker: null, until: 0, prior: null, since: 0 });
    },
    holdings: async (tenant, after, most) =>
      tables.leases
        .after(tenant, after, Number.POSITIVE_INFINITY)
        .filter(([, lease]) => !isFree(lease))
        .slice(0, most)
        .map(([run, { prior: _, ...lease }]) => ({ run, ...lease, queue: queueOf(tables, tenant, run) }) as Holding),
    nextDue: async () =>
      (timers(tables).find(({ at }) => at !== null && at > clock.now())?.at ?? null) as Instant | null,
  };
}

interface Timer extends Waiter {
  readonly at: number | null;
  readonly needs: readonly string[];
}

/** Of every tenant, the earliest first. */
function timers(tables: Tables): readonly Timer[] {
  const all = tables.rows("timer").sorted();
  return all
    .map(([[tenant, run], { row }]) => {
      const { due_at: at, queue = queueDefault, priority = 0, needs = [] } = JSON.parse(row) as TimerRow;
      return { at, tenant: tenant as Tenant, run: run as RunId, queue, priority, needs };
    })
    .sort((left, right) => (left.at ?? 0) - (right.at ?? 0));
}

function byName(left: Waiter, right: Waiter): number {
  return comparePaths([left.tenant, left.run], [right.tenant, right.run]);
}

function queueOf(tables: Tables, tenant: Tenant, run: string): string | null {
  const timer = tables.row(tenant, "timer", run);
  const { due_at = null, queue = queueDefault } = timer === null ? {} : (JSON.parse(timer.row) as TimerRow);
  return due_at === null ? null : queue;
}

/** Of the leases that last. */
function loadOf(tables: Tables, now: number): Load {
  const load = { queues: new Map<string, number>(), tenants: new Map<string, number>() };
  const add = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const [[tenant, run], { until }] of tables.leases.sorted()) {
    if (until <= now) continue;
    add(load.tenants, String(tenant));
    const queue = queueOf(tables, tenant as Tenant, String(run));
    if (queue !== null) add(load.queues, queue);
  }
  return load;
}

function markers(tables: Tables): Part<"mark" | "marked"> {
  return {
    mark: async ({ tenant, run, epoch }, step, attempt) => {
      if (tables.epoch(tenant, run) !== epoch) return false;
      tables.markers.set([tenant, run, step, attempt], epoch);
      return true;
    },
    marked: async (tenant, run, step, attempt, boot) => {
      if (boot !== "memory") return "unknown";
      return tables.markers.get(tenant, run, step, attempt) === undefined ? "no" : "yes";
    },
  };
}
