import type { RunId, Tenant } from "../../core/id.ts";
import type { Table } from "../../core/rows.ts";
import { type Entry, ownerOf, type Store } from "../../core/store.ts";
import { type MemoryStore, type MemoryStoreOptions, memoryStore } from "../memory/memory-store.ts";
import { comparePaths, Shelf } from "../memory/shelf.ts";
import { Tables } from "../memory/tables.ts";

/**
 * A store for trying things out: it reads the real one and keeps every write to itself. What a write touches is copied
 * first and stays as it was then; all else is read through. Claims and timers are its own: a rehearsal never takes
 * a real run out of a worker's hands.
 */
export function rehearsalStore(real: Store, options: Pick<MemoryStoreOptions, "leaseMs"> = {}): Store {
  const tables = new Tables();
  const own = memoryStore({ ...options, clock: real.clock, tables });
  const copies = copying(real, tables);
  return {
    ...own,
    boot: real.boot,
    ...journal(real, own, copies),
    ...rowReads(real, own, copies),
    blob: async (tenant, hash) => (await own.blob(tenant, hash)) ?? real.blob(tenant, hash),
    marked: async (tenant, run, step, attempt, boot) => {
      const marked = await own.marked(tenant, run, step, attempt, own.boot);
      return marked === "yes" ? marked : real.marked(tenant, run, step, attempt, boot);
    },
    watch: (hint) => real.watch(hint),
  };
}

/** What was taken over from the real store, so that it is never taken twice. */
interface Copies {
  has(...path: readonly string[]): boolean;
  /** How many rows of a table differ, or may. */
  count(tenant: Tenant, table: Table): number;
  run(tenant: Tenant, run: RunId): Promise<void>;
  /** All that an entry is judged by or writes. */
  all(entry: Entry): Promise<void>;
}

function copying(real: Store, tables: Tables): Copies {
  const taken = new Shelf<true>();
  const once = async <Found>(path: readonly string[], find: () => Promise<Found>, keep: (found: Found) => void) => {
    if (taken.get(...path)) return;
    const found = await find();
    taken.set(path, true);
    keep(found);
  };
  const run = (tenant: Tenant, id: RunId) =>
    once(
      [tenant, "event", id],
      () => real.events(tenant, id, 0),
      (events) => {
        if (events.length > 0) tables.events.set([tenant, id], [...events]);
      },
    );
  const row = (tenant: Tenant, table: Table, key: string) =>
    once(
      [tenant, table, key],
      () => real.row(tenant, table, key),
      (found) => {
        if (found !== null) tables.rows(table).set([tenant, key], found);
      },
    );
  const tally = (tenant: Tenant, name: string) =>
    once(
      [tenant, "tally", name],
      () => real.used(tenant, name),
      (used) => {
        if (used !== 0) tables.tallies.set([tenant, name], used);
      },
    );
  return {
    has: (...path) => taken.get(...path) === true,
    count: (tenant, table) => taken.sorted(tenant).filter(([[, name]]) => name === table).length,
    run,
    all: async ({ tenant, run: id, puts, checks, charges }) => {
      await run(tenant, id);
      for (const { table, key } of puts) await row(tenant, table, key);
      for (const check of checks) await row(ownerOf(tenant, check), check.table, check.key);
      for (const charge of charges) await tally(tenant, charge.tally);
    },
  };
}

function journal(
  real: Store,
  own: MemoryStore,
  copies: Copies,
): Pick<Store, "append" | "events" | "journals" | "head" | "positions" | "erase"> {
  // One write at a time: two that copied the same thing at once would undo each other.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  };
  const from = (tenant: Tenant, run: RunId): Store => (copies.has(tenant, "event", run) ? own : real);
  const bothOf = async (tenant: Tenant, run: RunId) => {
    const store = from(tenant, run);
    return { head: await store.head(tenant, run), events: await store.events(tenant, run, 0) };
  };
  return {
    append: (entries) =>
      inTurn(async () => {
        for (const entry of entries) await copies.all(entry);
        return own.append(entries);
      }),
    erase: (what, hashOf) =>
      inTurn(async () => {
        await copies.run(what.tenant, what.run);
        return own.erase(what, hashOf);
      }),
    events: async (tenant, run, ...range) => from(tenant, run).events(tenant, run, ...range),
    journals: async (tenant, after, most) => {
      const runs = await runsAfter(real, own, { tenant, after, most });
      return Promise.all(runs.map(async (run) => ({ run, ...(await bothOf(tenant, run)) })));
    },
    head: async (tenant, run) => from(tenant, run).head(tenant, run),
    positions: async (runs) => {
      const [ours, theirs] = await Promise.all([own.positions(runs), real.positions(runs)]);
      return runs.map(({ tenant, run }, index) => (copies.has(tenant, "event", run) ? ours : theirs)[index] ?? 0);
    },
  };
}

function rowReads(
  real: Store,
  own: MemoryStore,
  copies: Copies,
): Pick<Store, "row" | "list" | "used" | "runs" | "tallies"> {
  return {
    row: async (tenant, table, key) => (copies.has(tenant, table, key) ? own : real).row(tenant, table, key),
    used: async (tenant, tally) => (copies.has(tenant, "tally", tally) ? own : real).used(tenant, tally),
    runs: (tenant, after, most) => runsAfter(real, own, { tenant, after, most }),
    // None is ever taken away, so a copy can only stand before the real one.
    tallies: async (tenant, after, most) => {
      const all = [await real.tallies(tenant, after, most), await own.tallies(tenant, after, most)].flat();
      const last = [...new Map(all.map((tally) => [tally.tally, tally])).values()];
      return last.sort((left, right) => comparePaths([left.tally], [right.tally])).slice(0, most);
    },
    list: async (tenant, query) => {
      const { table, order, limit } = query;
      // Each copied row may hide a real one, so that many more are asked for.
      const theirs = await real.list(tenant, { ...query, limit: limit + copies.count(tenant, table) });
      const ours = await own.list(tenant, query);
      const rows = [...ours, ...theirs.filter(({ key }) => !copies.has(tenant, table, key))];
      const oldest = rows.sort((left, right) => comparePaths([left.key], [right.key]));
      return (order === "oldest" ? oldest : oldest.reverse()).slice(0, limit);
    },
  };
}

interface After {
  readonly tenant: Tenant;
  readonly after: string;
  readonly most: number;
}

/** None is ever taken away: those of both. */
async function runsAfter(real: Store, own: Store, { tenant, after, most }: After): Promise<readonly RunId[]> {
  const all = [await own.runs(tenant, after, most), await real.runs(tenant, after, most)].flat();
  return [...new Set(all)].sort((left, right) => comparePaths([left], [right])).slice(0, most);
}
