import type { StoredRow } from "../../../core/store/store.ts";
import { type Table, tables } from "../../../core/store/tables.ts";
import type { AuditReport } from "../../api/engine-api.ts";
import { listRowPages } from "../../journal/store-listing.ts";
import { type AuditedStore, explainRow } from "./explain-row.ts";

type UnexplainedRow = AuditReport["rows"][number];

/** The rows are counted in this many groups, so that the memory of an audit does not grow with the store. */
const GROUPS = 1 << 16;

/**
 * Finds stored rows that no event explains. Counts the rows that the journals explain, then the rows that are stored,
 * in groups by a hash of the key. In a group with more stored rows than explained ones, each row is explained by
 * itself: it was forged, or written since, or its run was erased.
 */
export class UnexplainedRows {
  readonly #surplus = new Int32Array(GROUPS);

  /** Counts a stored row that equals the fold of its events. Each row is counted once, for its last journal. */
  countExplained(table: Table, key: string): void {
    const group = groupOf(table, key);
    this.#surplus[group] = (this.#surplus[group] as number) - 1;
  }

  async findUnexplained(audited: AuditedStore): Promise<readonly UnexplainedRow[]> {
    for await (const { table, page } of listAllPages(audited)) {
      for (const { key } of page) {
        const group = groupOf(table, key);
        this.#surplus[group] = (this.#surplus[group] as number) + 1;
      }
    }
    if (this.#surplus.every((surplus) => surplus <= 0)) return [];
    const found: UnexplainedRow[] = [];
    for await (const { table, page } of listAllPages(audited)) {
      for (const row of page) {
        if ((this.#surplus[groupOf(table, row.key)] as number) <= 0) continue;
        const what = await explainRow(audited, table, row);
        if (what !== null) found.push({ table, key: row.key, what });
      }
    }
    return found;
  }
}

interface RowPage {
  readonly table: Table;
  readonly page: readonly StoredRow[];
}

async function* listAllPages({ store, tenant }: AuditedStore): AsyncIterable<RowPage> {
  for (const table of tables) for await (const page of listRowPages(store, tenant, table)) yield { table, page };
}

/** FNV-1a over the name of the row. */
function groupOf(table: Table, key: string): number {
  let hash = 0x811c9dc5 ^ tables.indexOf(table);
  for (let at = 0; at < key.length; at += 1) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 16)) & (GROUPS - 1);
}
