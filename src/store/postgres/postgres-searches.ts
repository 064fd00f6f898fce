import { assertStorableNames } from "../../core/store/check-entry.ts";
import { type RowSearch, SEARCH_ROWS_MAX } from "../../core/store/row-search.ts";
import { assertTaggedTable } from "../../core/store/row-tags.ts";
import type { FoundRows, RowName, Store } from "../../core/store/store.ts";
import type { Table } from "../../core/store/tables.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import { textArray } from "./binary-array.ts";
import type { FunctionCaller } from "./function-caller.ts";

type SearchMethods = Pick<Store, "search" | "count" | "outdatedRuns" | "markRefolded">;

/** A row; or, with no version, the key where the search goes on. */
type FoundColumns = readonly [key: string, version: number | null, row: string | null];

/** A key that no row has: all keys come before it. */
const AFTER_ALL = "\u{10ffff}\u{10ffff}";

export function postgresSearches(calls: FunctionCaller): SearchMethods {
  return {
    search: async (tenant, search) => {
      const { table, tags, order, limit } = search;
      const range = keyRange(tenant, search);
      // One more than the limit shows whether more rows follow.
      const values = [tenant, table, textArray(tags), ...range, order === "newest", limit + 1, SEARCH_ROWS_MAX];
      return toFoundRows(await calls<FoundColumns>({ name: "search", values }), limit);
    },
    count: async (tenant, search, most) => {
      const range = keyRange(tenant, { ...search, order: "newest" });
      const values = [tenant, search.table, textArray(search.tags), ...range, most];
      const [found] = await calls<readonly [number]>({ name: "count_rows", values });
      return found?.[0] ?? 0;
    },
    outdatedRuns: async (most) =>
      (await calls<readonly [Tenant, RunId]>({ name: "outdated_runs", values: [most] })).map(([tenant, run]) => ({
        tenant,
        run,
      })),
    markRefolded: async (tenant, run) => void (await calls({ name: "mark_refolded", values: [tenant, run] })),
  };
}

/** Returns the keys of a search: from the first on, and before the second. Keys contain no NUL or control character. */
function keyRange(
  tenant: Tenant,
  { table, tags, order, after, from = "", to = AFTER_ALL }: Omit<RowSearch, "limit">,
): readonly [string, string] {
  assertTaggedTable(table);
  assertStorableNames(tenant, ...tags, after ?? "", from, to);
  if (after === undefined) return [from, to];
  if (order === "newest") return [from, isBefore(after, to) ? after : to];
  const next = `${after}\u0001`;
  return [isBefore(from, next) ? next : from, to];
}

/** Compares by bytes, as the collation "C" does. */
function isBefore(left: string, right: string): boolean {
  return Buffer.compare(Buffer.from(left), Buffer.from(right)) < 0;
}

function toFoundRows(found: readonly FoundColumns[], limit: number): FoundRows {
  const rows = found.flatMap(([key, version, row]) =>
    version === null || row === null ? [] : [{ key, version, row }],
  );
  const bound = found.find(([, version]) => version === null)?.[0] ?? null;
  return { rows: rows.slice(0, limit), next: rows.length > limit ? (rows[limit - 1]?.key ?? null) : bound };
}

/** Rows per answer. */
const WRONG_MAX = 1000;

/** Returns the rows whose tags differ from their copies. */
export async function findWrongTags(calls: FunctionCaller, tenant: Tenant): Promise<readonly RowName[]> {
  const found = await calls<readonly [Table, string]>({ name: "wrong_tags", values: [tenant, WRONG_MAX] });
  return found.map(([table, key]) => ({ table, key }));
}
