import type { Store, StoredRow } from "../../../core/store/store.ts";
import type { Table } from "../../../core/store/tables.ts";
import type { RunId, Tenant } from "../../../core/values/ids.ts";
import { isName } from "../../../core/values/is-name.ts";
import { isJsonObject, type Json } from "../../../core/values/json.ts";
import { erasedRunAllowsRow } from "./erased-run-allows-row.ts";
import { foldContainsRow, type JournalFold, type JournalFoldCache } from "./journal-fold-cache.ts";

/** Tables whose key is the journal that the row follows from. The rows of other tables name it. */
const tablesKeyedByJournal: readonly Table[] = ["run", "timer", "setting"];

export interface AuditedStore {
  readonly store: Store;
  readonly tenant: Tenant;
  readonly folds: JournalFoldCache;
}

/** Returns the problem of a stored row, or null if the journal that it names explains it or has changed it since. */
export async function explainRow(audited: AuditedStore, table: Table, stored: StoredRow): Promise<string | null> {
  const { store, tenant, folds } = audited;
  for (let row: StoredRow | null = stored; row !== null; ) {
    const owner = rowOwner(table, row);
    if (owner === null) return "no event explains it: it names no journal";
    const cached = folds.cached(owner);
    if (cached !== undefined && findRowProblem(cached, table, row, owner) === null) return null;
    const problem = findRowProblem(await folds.read(owner), table, row, owner);
    if (problem === null) return null;
    // The owner may have appended between the two reads.
    const now: StoredRow | null = await store.row(tenant, table, row.key);
    if (now !== null && now.version === row.version && now.row === row.row) return problem;
    row = now;
  }
  return null;
}

/** Returns the journal that a row follows from. Null: the row is not one that an engine writes. */
export function rowOwner(table: Table, { key, row }: StoredRow): RunId | null {
  if (tablesKeyedByJournal.includes(table)) return key as RunId;
  const fields = parseRow(row);
  return fields !== null && isName(fields.run_id) ? (fields.run_id as RunId) : null;
}

function findRowProblem(fold: JournalFold, table: Table, row: StoredRow, owner: RunId): string | null {
  if (fold.kind === "unreadable") return null;
  if (fold.kind === "whole") return foldContainsRow(fold.rows, table, row) ? null : `no event of ${owner} explains it`;
  const fields = parseRow(row.row);
  return fields !== null && erasedRunAllowsRow(fold, table, row, fields)
    ? null
    : `the events that retention kept of ${owner} contradict it`;
}

type RowFields = Readonly<Record<string, Json>>;

/** Returns the fields of a row. Null: it is not a row that an engine writes. */
export function parseRow(row: string): RowFields | null {
  try {
    const fields = JSON.parse(row) as Json;
    return isJsonObject(fields) ? fields : null;
  } catch {
    return null;
  }
}
