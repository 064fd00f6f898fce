import type { RowSearch } from "../../core/store/row-search.ts";
import type { FoundRows, Store } from "../../core/store/store.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Tenant } from "../../core/values/ids.ts";
import { isName } from "../../core/values/is-name.ts";
import type { ListPage } from "../api/list-api.ts";
import { requestLimits } from "../api/request-limits.ts";

/** The number of searches that one page makes at most, if rows are left out after a search. */
const SEARCHES_MAX = 4;

/** The search of a list, and which of the found rows it shows. */
export interface ListSearch<Row> extends Pick<RowSearch, "table" | "tags" | "from" | "to"> {
  readonly limit: number;
  readonly after?: string;
  /** Absent: it shows all of them. */
  readonly keeps?: (row: Row) => boolean | Promise<boolean>;
}

/** Reads a page of a list, newest first. It reads on while rows are left out, a limited number of times. */
export async function readListPage<Row>(
  store: Store,
  tenant: Tenant,
  { keeps, ...search }: ListSearch<Row>,
): Promise<{ readonly rows: readonly Row[]; readonly next: string | null }> {
  const rows: Row[] = [];
  let after = search.after;
  for (let searches = 0; ; searches += 1) {
    const found: FoundRows = await store.search(tenant, {
      ...search,
      order: "newest",
      ...(after !== undefined && { after }),
    });
    for (const { key, row } of found.rows) {
      const fields = JSON.parse(row) as Row;
      if (keeps === undefined || (await keeps(fields))) rows.push(fields);
      if (rows.length === search.limit) return { rows, next: key === found.rows.at(-1)?.key ? found.next : key };
    }
    if (found.next === null || searches === SEARCHES_MAX) return { rows, next: found.next };
    after = found.next;
  }
}

/** Makes a page. The cursor and the count are not elements, so they are not enumerable. */
export function toListPage<Row>(rows: readonly Row[], next: string | null, count: number | null): ListPage<Row> {
  const page = [...rows];
  Object.defineProperties(page, { next: { value: next }, count: { value: count } });
  return page as unknown as ListPage<Row>;
}

/** Counts the rows of a list. A list that leaves rows out after the search cannot be counted. */
export async function countList<Row>(
  store: Store,
  tenant: Tenant,
  { table, tags, from, to, keeps }: ListSearch<Row>,
): Promise<number> {
  if (keeps !== undefined)
    throw new FaultError(fault("INVALID_INPUT", "a list with this filter cannot be counted; leave out count"));
  const range = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
  return store.count(tenant, { table, tags, ...range }, requestLimits.counted);
}

/** Throws INVALID_INPUT unless each filter is a name. */
export function assertFilters(filters: Readonly<Record<string, unknown>>): void {
  const wrong = Object.entries(filters).find(([, value]) => value !== undefined && !isName(value));
  if (wrong !== undefined)
    throw new FaultError(fault("INVALID_INPUT", `${wrong[0]} must be a text of 1 to 200 characters`));
}
