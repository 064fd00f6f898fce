import type { RunId, Tenant } from "../../core/id.ts";
import { versionAfter } from "../../core/judge.ts";
import type { LedgerRow, ProjectRow, SignalRow, Table } from "../../core/rows.ts";
import type { Put, Store, StoredRow } from "../../core/store.ts";

/** The rows that a journal adds up to, by table and key; null if it was emptied. */
export type Fold = (owner: RunId) => Promise<ReadonlyMap<string, Put> | null>;

/** Rows that go from journal to journal, and name the last. */
const shared: readonly Table[] = ["ledger", "signal", "project"];

/** So many journals are remembered: many rows in turn have the same last owner, and its journal may be long. */
const REMEMBERED = 100;

/** Those who have rows now that others have left on record, and whether the rows are what they made of them. */
export class Owners {
  readonly #store: Store;
  readonly #tenant: Tenant;
  readonly #fold: Fold;
  readonly #folds = new Map<RunId, ReadonlyMap<string, Put>>();

  constructor(store: Store, tenant: Tenant, fold: Fold) {
    this.#store = store;
    this.#tenant = tenant;
    this.#fold = fold;
  }

  /** Whether another journal than this one has taken a row over since, and is what it says. */
  async answersFor(put: Put, found: StoredRow | null, not: RunId): Promise<boolean> {
    for (let row = found; shared.includes(put.table) && row !== null && row.version > versionAfter(put); ) {
      const owner = (JSON.parse(row.row) as LedgerRow | SignalRow | ProjectRow).run_id;
      if (owner === not) return false;
      if (isMade(this.#folds.get(owner), put, row) || (await this.#made(owner, put, row))) return true;
      // It may have gone on between the row and its events.
      const now = await this.#store.row(this.#tenant, put.table, put.key);
      if (now?.version === row.version) return false;
      row = now;
    }
    return false;
  }

  async #made(owner: RunId, put: Put, row: StoredRow): Promise<boolean> {
    const rows = await this.#fold(owner);
    if (rows === null) return true; // It was emptied, and what it made cannot be told any more.
    this.#folds.delete(owner);
    this.#folds.set(owner, rows);
    const [oldest] = this.#folds.keys();
    if (this.#folds.size > REMEMBERED && oldest !== undefined) this.#folds.delete(oldest);
    return isMade(rows, put, row);
  }
}

function isMade(rows: ReadonlyMap<string, Put> | undefined, { table, key }: Put, row: StoredRow): boolean {
  const made = rows?.get(`${table} ${key}`);
  return made !== undefined && isSame(made, row);
}

export function isSame(put: Put, found: StoredRow | null): boolean {
  if (put.row === null || found === null) return put.row === null && found === null;
  return found.row === put.row && found.version === versionAfter(put);
}
