import type { Table } from "./tables.ts";

/** The number of index entries that one search reads at most. */
export const SEARCH_ROWS_MAX = 2500;

/** Rows of one table that have all of these tags. */
export interface RowSearch {
  readonly table: Table;
  readonly tags: readonly string[];
  readonly order: "oldest" | "newest";
  /** Only keys after this one in the given order. */
  readonly after?: string;
  /** Only keys from this one on, and only keys before this one, in the order of keys. */
  readonly from?: string;
  readonly to?: string;
  readonly limit: number;
}
