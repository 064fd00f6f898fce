import type { RowSearch } from "../../core/store/row-search.ts";
import type { Table } from "../../core/store/tables.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import type { Prepare, SqliteStatement } from "./sqlite-driver.ts";

export interface KeyColumn {
  readonly key: string;
}

export interface EntryCount {
  readonly entries: number;
}

type SearchedRow = readonly [key: string, version: number, row: string];

/** The statements of one form of search: a table, a number of tags and an order. */
export interface SearchForm {
  /** The keys that have all tags. */
  readonly keysOf: SqliteStatement<KeyColumn>;
  /** The key of one tag at an offset. */
  readonly keyAt: SqliteStatement<KeyColumn>;
  /** The rows of the table, without tags. */
  readonly rowsOf: SqliteStatement<SearchedRow>;
  readonly countOf: SqliteStatement<EntryCount>;
}

/** The statements about tags. Those of a form of search are prepared at its first use. */
export function searchStatements(prepare: Prepare) {
  const forms = new Map<string, SearchForm>();
  return {
    addTags: createTagInserts(prepare),
    removeTag: prepare("delete from tag where tenant = ? and kind = ? and tag = ? and key = ?"),
    hasTag: prepare<KeyColumn>("select key from tag where tenant = ? and kind = ? and tag = ? and key = ?"),
    countGivenTags: prepare<EntryCount>(
      `select count(*) as entries from json_each(?3) as given
       cross join tag on tenant = ?1 and kind = ?2 and tag = given.value ->> 0 and tag.key = given.value ->> 1`,
    ),
    countTags: prepare<EntryCount>("select count(*) as entries from tag where tenant = ? and kind = ?"),
    allTags: prepare<KeyColumn & { readonly tag: string }>("select tag, key from tag where tenant = ? and kind = ?"),
    countTag: prepare<EntryCount>(
      `select count(*) as entries from (
         select 1 from tag where tenant = ? and kind = ? and tag = ? and key >= ? and key < ? limit ?)`,
    ),
    outdatedRuns: prepare<{ readonly tenant: Tenant; readonly run: RunId }>(
      "select tenant, run from outdated order by tenant, run limit ?",
    ),
    removeOutdated: prepare("delete from outdated where tenant = ? and run = ?"),
    searches: (table: Table, tags: number, order: RowSearch["order"]): SearchForm => {
      const name = `${table} ${tags} ${order}`;
      const form = forms.get(name) ?? searchForm(prepare, table, tags, order);
      forms.set(name, form);
      return form;
    },
  };
}

/** Returns the statement that adds this number of tags to a row: one statement takes less time than one per tag. */
function createTagInserts(prepare: Prepare): (count: number) => SqliteStatement {
  const inserts: SqliteStatement[] = [];
  return (count) => {
    inserts[count] ??= prepare(
      `insert into tag (tenant, kind, key, tag) values ${Array(count).fill("(?1, ?2, ?3, ?)").join(", ")} on conflict do nothing`,
    );
    return inserts[count];
  };
}

function searchForm(prepare: Prepare, table: Table, tags: number, order: RowSearch["order"]): SearchForm {
  const sorted = `order by key ${order === "oldest" ? "asc" : "desc"}`;
  const probes = Array.from(
    { length: Math.max(0, tags - 1) },
    (_, index) =>
      `and exists (select 1 from tag t where t.tenant = ?1 and t.kind = ?2 and t.tag = ?${6 + index} and t.key = tag.key)`,
  ).join(" ");
  const tagged = `from tag where tenant = ?1 and kind = ?2 and key >= ?3 and key < ?4 and tag = ?5 ${probes}`;
  const untagged = `from ${table} where tenant = ?1 and key >= ?2 and key < ?3`;
  const limit = tags === 0 ? "?4" : `?${5 + tags}`;
  const rowsOf = prepare<SearchedRow>(`select key, version, row ${untagged} ${sorted} limit ?4`);
  rowsOf.setReturnArrays(true);
  return {
    keysOf: prepare(`select key ${tagged} ${sorted} limit ?${5 + Math.max(1, tags)}`),
    keyAt: prepare(
      `select key from tag where tenant = ?1 and kind = ?2 and key >= ?3 and key < ?4 and tag = ?5 ${sorted} limit 1 offset ?6`,
    ),
    rowsOf,
    countOf: prepare(`select count(*) as entries from (select 1 ${tags === 0 ? untagged : tagged} limit ${limit})`),
  };
}
