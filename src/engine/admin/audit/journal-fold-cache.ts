import { rowVersionAfter } from "../../../core/store/check-entry.ts";
import type { Put, Store, StoredEvent, StoredRow } from "../../../core/store/store.ts";
import type { Table } from "../../../core/store/tables.ts";
import { FaultError } from "../../../core/values/fault.ts";
import type { RunId, Tenant } from "../../../core/values/ids.ts";
import { GENESIS_HASH, JournalCodec, type JournalEvent } from "../../journal/journal-codec.ts";
import { openEvents, rowsOfEvents } from "./rows-of-events.ts";

/** The rows that a journal implies, as far as it can be read. */
export type JournalFold =
  | { readonly kind: "whole"; readonly rows: ReadonlyMap<string, Put> }
  /** Retention has erased bodies. `kept` has the events whose bodies remain, by position. */
  | {
      readonly kind: "erased";
      readonly events: readonly StoredEvent[];
      readonly kept: ReadonlyMap<number, JournalEvent>;
    }
  /** The journal is changed; the audit of the journal reports it. */
  | { readonly kind: "unreadable" };

/** The maximum number of cached folds. Consecutive rows often have the same owner, and its journal may be long. */
const REMEMBERED_FOLDS_MAX = 100;

/** Reads and folds the journals that rows name, and caches the last ones. */
export class JournalFoldCache {
  readonly #store: Store;
  readonly #tenant: Tenant;
  readonly #folds = new Map<RunId, JournalFold>();

  constructor(store: Store, tenant: Tenant) {
    this.#store = store;
    this.#tenant = tenant;
  }

  /** Returns a fold that was read before. The journal may have more events now. */
  cached(owner: RunId): JournalFold | undefined {
    return this.#folds.get(owner);
  }

  async read(owner: RunId): Promise<JournalFold> {
    const fold = await this.#fold(owner);
    this.#folds.delete(owner);
    this.#folds.set(owner, fold);
    const [oldest] = this.#folds.keys();
    if (this.#folds.size > REMEMBERED_FOLDS_MAX && oldest !== undefined) this.#folds.delete(oldest);
    return fold;
  }

  /** A missing journal has no rows. */
  async #fold(owner: RunId): Promise<JournalFold> {
    const stored = await this.#store.events(this.#tenant, owner, 0);
    const journal = new JournalCodec(this.#tenant, owner);
    try {
      journal.assertIntact(stored, GENESIS_HASH);
      const readable = stored.filter(({ body }) => body !== null);
      const opened = await openEvents(this.#store, journal, readable);
      if (stored.length === 0) return { kind: "whole", rows: new Map() };
      if (readable.length === stored.length) return { kind: "whole", rows: rowsOfEvents(this.#tenant, owner, opened) };
      const kept = new Map(readable.map(({ position }, index) => [position, opened[index] as JournalEvent]));
      return { kind: "erased", events: stored, kept };
    } catch (error) {
      if (error instanceof FaultError) return { kind: "unreadable" };
      throw error;
    }
  }
}

export function foldContainsRow(rows: ReadonlyMap<string, Put>, table: Table, row: StoredRow): boolean {
  const made = rows.get(`${table} ${row.key}`);
  return made !== undefined && isSameRow(made, row);
}

export function isSameRow(put: Put, found: StoredRow | null): boolean {
  if (put.row === null || found === null) return put.row === null && found === null;
  return found.row === put.row && found.version === rowVersionAfter(put);
}
