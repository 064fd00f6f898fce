import type { RowSearch } from "../../core/store/row-search.ts";
import { type Claim, checkedTenant, type Entry, type FoundRows, type Store } from "../../core/store/store.ts";
import type { Table } from "../../core/store/tables.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import { type MemoryStore, type MemoryStoreOptions, memoryStore } from "../memory/memory-store.ts";
import { MemoryTables } from "../memory/memory-tables.ts";
import { compareKeyPaths, SortedTable } from "../memory/sorted-table.ts";

/**
 * A store for simulation: it reads another store and keeps its own writes in memory. Before a write, it copies the
 * runs, rows and tallies that the write touches; it reads all others from the real store. Leases and timers are in
 * memory, so a simulation never claims a real run.
 */
export function overlayStore(real: Store, options: Pick<MemoryStoreOptions, "leaseMs"> = {}): Store {
  const tables = new MemoryTables();
  const own = memoryStore({ ...options, clock: real.clock, tables });
  const copies = createCopies(real, tables);
  return {
    ...own,
    boot: real.boot,
    ...journalMethods(real, own, copies),
    ...rowMethods(real, own, copies),
    blob: async (tenant, hash) => (await own.blob(tenant, hash)) ?? real.blob(tenant, hash),
    marked: async (tenant, run, step, attempt, boot) => {
      const marked = await own.marked(tenant, run, step, attempt, own.boot);
      return marked === "yes" ? marked : real.marked(tenant, run, step, attempt, boot);
    },
    watch: (hint) => real.watch(hint),
    changes: () => real.changes(),
  };
}

/** Copies data of the real store into memory, each item once. */
interface Copies {
  has(...path: readonly string[]): boolean;
  /** Returns the number of copied rows of a table. */
  countRows(tenant: Tenant, table: Table): number;
  copyRun(tenant: Tenant, run: RunId): Promise<void>;
  /** Copies the run, rows and tallies that an entry checks or writes. */
  copyFor(entry: Entry): Promise<void>;
}

function createCopies(real: Store, tables: MemoryTables): Copies {
  const copied = new SortedTable<true>();
  const copyOnce = async <Found>(
    path: readonly string[],
    read: () => Promise<Found>,
    write: (found: Found) => void,
  ) => {
    if (copied.get(...path)) return;
    const found = await read();
    copied.set(path, true);
    write(found);
  };
  const copyRun = (tenant: Tenant, id: RunId) =>
    copyOnce(
      [tenant, "event", id],
      () => real.events(tenant, id, 0),
      (events) => {
        if (events.length > 0) tables.events.set([tenant, id], [...events]);
      },
    );
  const copyRow = (tenant: Tenant, table: Table, key: string) =>
    copyOnce(
      [tenant, table, key],
      () => real.row(tenant, table, key),
      (found) => {
        if (found !== null) tables.rows(table).set([tenant, key], found);
      },
    );
  const copyTally = (tenant: Tenant, name: string) =>
    copyOnce(
      [tenant, "tally", name],
      () => real.used(tenant, name),
      (used) => {
        if (used !== 0) tables.tallies.set([tenant, name], used);
      },
    );
  return {
    has: (...path) => copied.get(...path) === true,
    countRows: (tenant, table) => copied.sorted(tenant).filter(([[, name]]) => name === table).length,
    copyRun,
    copyFor: async ({ tenant, run, puts, checks, charges }) => {
      await copyRun(tenant, run);
      for (const { table, key } of puts) await copyRow(tenant, table, key);
      for (const check of checks) await copyRow(checkedTenant(tenant, check), check.table, check.key);
      for (const charge of charges) await copyTally(tenant, charge.tally);
    },
  };
}

function journalMethods(
  real: Store,
  own: MemoryStore,
  copies: Copies,
): Pick<Store, "append" | "events" | "journals" | "head" | "heldRuns" | "erase"> {
  // One write at a time: two writes that copy the same item concurrently would overwrite each other.
  let last: Promise<unknown> = Promise.resolve();
  const enqueue = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = last.then(work);
    last = result.catch(() => {});
    return result;
  };
  const storeOf = (tenant: Tenant, run: RunId): Store => (copies.has(tenant, "event", run) ? own : real);
  const readJournal = async (tenant: Tenant, run: RunId) => {
    const store = storeOf(tenant, run);
    return { head: await store.head(tenant, run), events: await store.events(tenant, run, 0) };
  };
  return {
    append: (entries) =>
      enqueue(async () => {
        for (const entry of entries) await copies.copyFor(entry);
        return own.append(entries);
      }),
    erase: (what, hashOf) =>
      enqueue(async () => {
        await copies.copyRun(what.tenant, what.run);
        return own.erase(what, hashOf);
      }),
    events: async (tenant, run, ...range) => storeOf(tenant, run).events(tenant, run, ...range),
    journals: async (tenant, after, most) => {
      const runs = await runsAfter(real, own, { tenant, after, most });
      return Promise.all(runs.map(async (run) => ({ run, ...(await readJournal(tenant, run)) })));
    },
    head: async (tenant, run) => storeOf(tenant, run).head(tenant, run),
    heldRuns: async (claims) => {
      const [ownRuns, realRuns] = await Promise.all([own.heldRuns(claims), real.heldRuns(claims)]);
      return ownRuns.map((held, index) => {
        const { tenant, run } = claims[index] as Claim;
        return copies.has(tenant, "event", run) ? held : { ...held, position: realRuns[index]?.position ?? 0 };
      });
    },
  };
}

function rowMethods(
  real: Store,
  own: MemoryStore,
  copies: Copies,
): Pick<Store, "row" | "list" | "search" | "count" | "used" | "runs" | "tallies"> {
  const search = (tenant: Tenant, wanted: RowSearch) => searchBoth(real, own, copies, tenant, wanted);
  return {
    row: async (tenant, table, key) => (copies.has(tenant, table, key) ? own : real).row(tenant, table, key),
    used: async (tenant, tally) => (copies.has(tenant, "tally", tally) ? own : real).used(tenant, tally),
    runs: (tenant, after, most) => runsAfter(real, own, { tenant, after, most }),
    // Tallies are never removed, so the page is the union of both, and an own tally replaces the real one.
    tallies: async (tenant, after, most) => {
      const all = [await real.tallies(tenant, after, most), await own.tallies(tenant, after, most)].flat();
      const latest = [...new Map(all.map((tally) => [tally.tally, tally])).values()];
      return latest.sort((left, right) => compareKeyPaths([left.tally], [right.tally])).slice(0, most);
    },
    search,
    count: async (tenant, counted, most) => {
      let count = 0;
      for (let after: string | null | undefined; after !== null && count < most; ) {
        const page: FoundRows = await search(tenant, {
          ...counted,
          order: "oldest",
          limit: COUNT_PAGE_SIZE,
          ...(after !== undefined && { after }),
        });
        count += page.rows.length;
        after = page.next;
      }
      return Math.min(count, most);
    },
    list: async (tenant, query) => {
      const { table, order, limit } = query;
      // Each copied row may hide a real one, so the limit is raised by their number.
      const realRows = await real.list(tenant, { ...query, limit: limit + copies.countRows(tenant, table) });
      const ownRows = await own.list(tenant, query);
      const rows = [...ownRows, ...realRows.filter(({ key }) => !copies.has(tenant, table, key))];
      const oldest = rows.sort((left, right) => compareKeyPaths([left.key], [right.key]));
      return (order === "oldest" ? oldest : oldest.reverse()).slice(0, limit);
    },
  };
}

const COUNT_PAGE_SIZE = 1000;

/** Merges the found rows of both stores. If the real search stopped early, the page ends where that search did. */
async function searchBoth(
  real: Store,
  own: Store,
  copies: Copies,
  tenant: Tenant,
  search: RowSearch,
): Promise<FoundRows> {
  const { table, order, limit } = search;
  const inOrder = (left: string, right: string) => compareKeyPaths([left], [right]) * (order === "oldest" ? 1 : -1);
  const found = await real.search(tenant, { ...search, limit: limit + copies.countRows(tenant, table) });
  const { rows: ownRows } = await own.search(tenant, { ...search, limit: limit + 1 });
  const rows = [...ownRows, ...found.rows.filter(({ key }) => !copies.has(tenant, table, key))]
    .filter(({ key }) => found.next === null || inOrder(key, found.next) <= 0)
    .sort((left, right) => inOrder(left.key, right.key));
  const page = rows.slice(0, limit);
  return { rows: page, next: rows.length > limit ? (page.at(-1)?.key ?? null) : found.next };
}

interface PageRequest {
  readonly tenant: Tenant;
  readonly after: string;
  readonly most: number;
}

/** Returns the union of the runs of both stores. Runs are never removed. */
async function runsAfter(real: Store, own: Store, { tenant, after, most }: PageRequest): Promise<readonly RunId[]> {
  const all = [await own.runs(tenant, after, most), await real.runs(tenant, after, most)].flat();
  return [...new Set(all)].sort((left, right) => compareKeyPaths([left], [right])).slice(0, most);
}
