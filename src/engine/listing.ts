import type { RunId, Tenant } from "../core/id.ts";
import type { Table } from "../core/rows.ts";
import type { Holding, Store, StoredJournal, StoredRow, Tally } from "../core/store.ts";

/** Whole lists of a store, read part by part. */

export function rowsIn(store: Store, tenant: Tenant, table: Table): AsyncIterable<StoredRow> {
  return parts(
    (after) => store.list(tenant, { table, order: "oldest", limit: PART, after }),
    ({ key }) => key,
  );
}

/** Whole journals, as many at a time as the store sees fit. */
export async function* journalPartsIn(store: Store, tenant: Tenant): AsyncIterable<readonly StoredJournal[]> {
  for (let after = ""; ; ) {
    const part = await store.journals(tenant, after, PART);
    const last = part.at(-1);
    if (last === undefined) return;
    yield part;
    after = last.run;
  }
}

/** The journals whose names begin like this. */
export async function* journalsIn(store: Store, tenant: Tenant, prefix: string): AsyncIterable<RunId> {
  for await (const journal of parts((after) => store.runs(tenant, after || prefix, PART), String)) {
    if (!journal.startsWith(prefix)) return;
    yield journal;
  }
}

export function talliesIn(store: Store, tenant: Tenant): AsyncIterable<Tally> {
  return parts(
    (after) => store.tallies(tenant, after, PART),
    ({ tally }) => tally,
  );
}

export function holdingsIn(store: Store, tenant: Tenant): AsyncIterable<Holding> {
  return parts(
    (after) => store.holdings(tenant, after, PART),
    ({ run }) => run,
  );
}

/** How much is asked for at a time. */
export const PART = 500;

async function* parts<Item>(
  read: (after: string) => Promise<readonly Item[]>,
  nameOf: (item: Item) => string,
): AsyncIterable<Item> {
  let after = "";
  for (;;) {
    const part = await read(after);
    yield* part;
    const last = part.at(-1);
    if (last === undefined || part.length < PART) return;
    after = nameOf(last);
  }
}
