import type { Query, RunLease, Store, StoredJournal, StoredRow, Tally } from "../../core/store/store.ts";
import type { Table } from "../../core/store/tables.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";

export function listRows(
  store: Store,
  tenant: Tenant,
  table: Table,
  filter: Pick<Query, "where"> = {},
): AsyncIterable<StoredRow> {
  return readListPages(
    (after) => store.list(tenant, { table, order: "oldest", limit: LIST_PAGE_SIZE, after, ...filter }),
    ({ key }) => key,
  );
}

/** Yields all rows of a table in pages: one wait per row would take longer than to read the row. */
export async function* listRowPages(store: Store, tenant: Tenant, table: Table): AsyncIterable<readonly StoredRow[]> {
  for (let after = ""; ; ) {
    const page = await store.list(tenant, { table, order: "oldest", limit: LIST_PAGE_SIZE, after });
    yield page;
    const last = page.at(-1);
    if (last === undefined || page.length < LIST_PAGE_SIZE) return;
    after = last.key;
  }
}

/** Yields all journals of a tenant in batches. The store chooses the size of a batch. */
export async function* listJournalBatches(store: Store, tenant: Tenant): AsyncIterable<readonly StoredJournal[]> {
  for (let after = ""; ; ) {
    const part = await store.journals(tenant, after, LIST_PAGE_SIZE);
    const last = part.at(-1);
    if (last === undefined) return;
    yield part;
    after = last.run;
  }
}

/** Yields the journals whose names start with the prefix. */
export async function* listJournals(store: Store, tenant: Tenant, prefix: string): AsyncIterable<RunId> {
  for await (const journal of readListPages((after) => store.runs(tenant, after || prefix, LIST_PAGE_SIZE), String)) {
    if (!journal.startsWith(prefix)) return;
    yield journal;
  }
}

export function listTallies(store: Store, tenant: Tenant): AsyncIterable<Tally> {
  return readListPages(
    (after) => store.tallies(tenant, after, LIST_PAGE_SIZE),
    ({ tally }) => tally,
  );
}

export function listLeases(store: Store, tenant: Tenant): AsyncIterable<RunLease> {
  return readListPages(
    (after) => store.holdings(tenant, after, LIST_PAGE_SIZE),
    ({ run }) => run,
  );
}

/** Rows per read of the store. */
export const LIST_PAGE_SIZE = 500;

async function* readListPages<Item>(
  read: (after: string) => Promise<readonly Item[]>,
  nameOf: (item: Item) => string,
): AsyncIterable<Item> {
  let after = "";
  for (;;) {
    const part = await read(after);
    yield* part;
    const last = part.at(-1);
    if (last === undefined || part.length < LIST_PAGE_SIZE) return;
    after = nameOf(last);
  }
}
