import type { RowSearch } from "../../core/store/row-search.ts";
import { assertTaggedTable, rowTags } from "../../core/store/row-tags.ts";
import type { Store, StoredRow } from "../../core/store/store.ts";
import type { Tenant } from "../../core/values/ids.ts";
import type { MemoryTables } from "./memory-tables.ts";
import { compareKeyPaths } from "./sorted-table.ts";

export function memorySearches(
  tables: MemoryTables,
): Pick<Store, "search" | "count" | "outdatedRuns" | "markRefolded"> {
  return {
    search: async (tenant, search) => {
      const found = searchRows(tables, tenant, search);
      const rows = (search.order === "oldest" ? found : found.reverse()).slice(0, search.limit);
      return { rows, next: found.length > rows.length ? (rows.at(-1)?.key ?? null) : null };
    },
    count: async (tenant, search, most) =>
      Math.min(most, searchRows(tables, tenant, { ...search, order: "oldest" }).length),
    outdatedRuns: async () => [], // No older version has written to it.
    markRefolded: async () => {},
  };
}

/** Returns the rows that a search finds, oldest first. */
function searchRows(
  tables: MemoryTables,
  tenant: Tenant,
  { table, tags, order, after, from, to }: Omit<RowSearch, "limit">,
): StoredRow[] {
  assertTaggedTable(table);
  const follows = (key: string) =>
    after === undefined || Math.sign(compareKeyPaths([key], [after])) === (order === "oldest" ? 1 : -1);
  return tables
    .rows(table)
    .sorted(tenant)
    .map(([, row]) => row)
    .filter(({ key }) => follows(key))
    .filter(({ key }) => from === undefined || compareKeyPaths([key], [from]) >= 0)
    .filter(({ key }) => to === undefined || compareKeyPaths([key], [to]) < 0)
    .filter(({ row }) => {
      const own = rowTags(table, row);
      return tags.every((tag) => own.includes(tag));
    });
}
