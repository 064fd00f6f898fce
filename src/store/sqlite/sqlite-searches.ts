import { assertStorableNames } from "../../core/store/check-entry.ts";
import { type RowSearch, SEARCH_ROWS_MAX } from "../../core/store/row-search.ts";
import { assertTaggedTable, rowTags } from "../../core/store/row-tags.ts";
import type { FoundRows, Put, RowName, Store, StoredRow } from "../../core/store/store.ts";
import { type Table, taggedRowFields } from "../../core/store/tables.ts";
import type { Tenant } from "../../core/values/ids.ts";
import type { SqliteContext } from "./sqlite-context.ts";
import type { SqliteStatements } from "./statements.ts";

/** A key that no row has: all keys come before it. */
const AFTER_ALL = "\u{10ffff}\u{10ffff}";

/** The number of entries up to which the tags of a search are compared to find the rarest. */
const RARE_ENTRIES_MAX = 1000;

/** The number of tags in one insert. Most rows have fewer. */
const TAGS_PER_INSERT = 16;

/** Rows per read of the audit. */
const PAGE_SIZE = 500;

/** The keys of a search: from `low` on, and before `high`. */
interface KeyRange {
  readonly low: string;
  readonly high: string;
}

export function sqliteSearches({
  statements,
  read,
  group,
}: SqliteContext): Pick<Store, "search" | "count" | "outdatedRuns" | "markRefolded" | "wrongCopies"> {
  return {
    search: async (tenant, search) => {
      assertSearch(tenant, search);
      return read(() => searchRows(statements, tenant, search));
    },
    count: async (tenant, search, most) => {
      assertSearch(tenant, search);
      return read(() => countRows(statements, tenant, search, most));
    },
    outdatedRuns: async (most) => read(() => statements.outdatedRuns.all(most)),
    markRefolded: (tenant, run) => group.join("soft", () => void statements.removeOutdated.run(tenant, run)),
    wrongCopies: async (tenant) => {
      const wrong: RowName[] = [];
      for (const table of Object.keys(taggedRowFields) as Table[])
        wrong.push(...(await findWrongTags({ statements, read }, tenant, table)));
      return wrong;
    },
  };
}

function assertSearch(tenant: Tenant, { table, tags, after, from, to }: Partial<RowSearch> & Pick<RowSearch, "table">) {
  assertTaggedTable(table);
  assertStorableNames(tenant, ...(tags ?? []), after ?? "", from ?? "", to ?? "");
}

function searchRows(statements: SqliteStatements, tenant: Tenant, search: RowSearch): FoundRows {
  const { table, tags, order, limit } = search;
  const { low, high } = keyRange(search);
  const { keysOf, rowsOf } = statements.searches(table, tags.length, order);
  // One more than the limit shows whether more rows follow.
  if (tags.length === 0) {
    const found = rowsOf.all(tenant, low, high, limit + 1);
    const rows = found.slice(0, limit).map(({ 0: key, 1: version, 2: row }) => ({ key, version, row }));
    return { rows, next: found.length > limit ? (rows.at(-1)?.key ?? null) : null };
  }
  const ordered = rarestFirst(statements, tenant, table, tags, { low, high });
  const bound = tags.length === 1 ? null : boundOf(statements, tenant, search, ordered[0] as string, { low, high });
  const within = bound === null ? { low, high } : narrowed({ low, high }, order, bound);
  const keys = keysOf.all(tenant, table, within.low, within.high, ...ordered, limit + 1).map(({ key }) => key);
  const rows = keys.slice(0, limit).flatMap((key) => statements.findRow(tenant, table, key) ?? []);
  return { rows, next: keys.length > limit ? (keys[limit - 1] ?? null) : bound };
}

/** Returns the range of keys of a search. Keys contain no NUL, so the key with U+0001 follows at once. */
function keyRange({ order, after, from = "", to = AFTER_ALL }: Omit<RowSearch, "table" | "tags" | "limit">): KeyRange {
  if (after === undefined) return { low: from, high: to };
  if (order === "newest") return { low: from, high: isBefore(after, to) ? after : to };
  const next = `${after}\u0001`;
  return { low: isBefore(from, next) ? next : from, high: to };
}

/** Compares by bytes, as SQLite does. */
function isBefore(left: string, right: string): boolean {
  return Buffer.compare(Buffer.from(left), Buffer.from(right)) < 0;
}

/** Returns the tags, first the one with the fewest rows, as far as that is cheap to know. */
function rarestFirst(
  { countTag }: SqliteStatements,
  tenant: Tenant,
  table: Table,
  tags: readonly string[],
  { low, high }: KeyRange,
): readonly string[] {
  if (tags.length === 1) return tags;
  const counted = tags.map((tag) => ({
    tag,
    entries: countTag.get(tenant, table, tag, low, high, RARE_ENTRIES_MAX)?.entries ?? 0,
  }));
  return counted.sort((left, right) => left.entries - right.entries).map(({ tag }) => tag);
}

/** Returns the last key of the rarest tag that this search reads, or null if it reads all of them. */
function boundOf(
  statements: SqliteStatements,
  tenant: Tenant,
  { table, order }: RowSearch,
  tag: string,
  { low, high }: KeyRange,
): string | null {
  const { keyAt } = statements.searches(table, 1, order);
  return keyAt.get(tenant, table, low, high, tag, SEARCH_ROWS_MAX - 1)?.key ?? null;
}

function narrowed({ low, high }: KeyRange, order: RowSearch["order"], bound: string): KeyRange {
  return order === "newest" ? { low: bound, high } : { low, high: `${bound}\u0001` };
}

function countRows(
  statements: SqliteStatements,
  tenant: Tenant,
  search: Omit<RowSearch, "order" | "after" | "limit">,
  most: number,
): number {
  const { table, tags } = search;
  const { low, high } = keyRange({ ...search, order: "newest" });
  const { countOf } = statements.searches(table, tags.length, "newest");
  const ordered = tags.length === 0 ? [] : rarestFirst(statements, tenant, table, tags, { low, high });
  const names = tags.length === 0 ? [tenant, low, high] : [tenant, table, low, high, ...ordered];
  return countOf.get(...names, most)?.entries ?? 0;
}

/** Replaces the tags of a row that is about to be written. */
export function updateTags(
  { statements, runTags }: Pick<SqliteContext, "statements" | "runTags">,
  tenant: Tenant,
  put: Put,
  isNew: boolean,
): void {
  const { table, key, row } = put;
  const known = isNew ? NONE : table === "run" ? runTags.of(tenant, key) : null;
  const before = known ?? storedTags(statements, tenant, table, key);
  const after = row === null ? NONE : rowTags(table, row);
  if (table === "run") runTags.remember(tenant, key, after);
  for (const tag of before) if (!after.includes(tag)) statements.removeTag.run(tenant, table, tag, key);
  const added = before.length === 0 ? after : after.filter((tag) => !before.includes(tag));
  for (let from = 0; from < added.length; from += TAGS_PER_INSERT) {
    const some = added.slice(from, from + TAGS_PER_INSERT);
    statements.addTags(some.length).run(tenant, table, key, ...some);
  }
}

function storedTags(statements: SqliteStatements, tenant: Tenant, table: Table, key: string): readonly string[] {
  const stored = statements.findRow(tenant, table, key);
  return stored === null ? NONE : rowTags(table, stored.row);
}

const NONE: readonly never[] = [];

/** Compares the tags of a table with its rows. If each row has its tags and their number is right, no other tag exists. */
async function findWrongTags(
  { statements, read }: Pick<SqliteContext, "statements" | "read">,
  tenant: Tenant,
  table: Table,
): Promise<readonly RowName[]> {
  const wrong: RowName[] = [];
  let expected = 0;
  const check = (rows: readonly StoredRow[]): void => {
    const given = rows.map(({ key, row }) => ({ key, tags: rowTags(table, row) }));
    const pairs = given.flatMap(({ key, tags }) => tags.map((tag) => [tag, key]));
    expected += pairs.length;
    // One statement for a page takes a third of the time of one per tag.
    if (statements.countGivenTags.get(tenant, table, JSON.stringify(pairs))?.entries === pairs.length) return;
    for (const { key, tags } of given)
      if (tags.some((tag) => statements.hasTag.get(tenant, table, tag, key) === undefined)) wrong.push({ table, key });
  };
  for (let after = ""; ; ) {
    const page = await read(() =>
      searchRows(statements, tenant, { table, tags: [], order: "oldest", after, limit: PAGE_SIZE }),
    );
    await read(() => check(page.rows));
    if (page.next === null) break;
    after = page.next;
  }
  const stored = await read(() => statements.countTags.get(tenant, table)?.entries ?? 0);
  return stored === expected || wrong.length > 0 ? wrong : read(() => findSurplusTags(statements, tenant, table));
}

/** Returns the rows that are named by tags which they do not have. */
function findSurplusTags(statements: SqliteStatements, tenant: Tenant, table: Table): readonly RowName[] {
  const wrong = new Set<string>();
  for (const { tag, key } of statements.allTags.all(tenant, table)) {
    const stored = statements.findRow(tenant, table, key);
    if (stored === null || !rowTags(table, stored.row).includes(tag)) wrong.add(key);
  }
  return Array.from(wrong, (key) => ({ table, key }));
}
