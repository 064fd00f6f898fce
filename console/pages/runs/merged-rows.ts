import type { RunRow } from "../../../src/core/store/tables.ts";

/** Rows of a list, newest first: their ids descend. */
export type Rows = readonly RunRow[];

/** Returns the rows after the first page was read again: rows that it no longer has are gone, later ones stay. */
export function withFirstPage(rows: Rows, page: Rows, isWhole: boolean): Rows {
  const last = page.at(-1)?.run_id;
  if (isWhole || last === undefined) return page;
  return [...page, ...rows.filter(({ run_id }) => run_id < last)];
}

/** Returns the rows with the next page. A page that was asked for twice changes nothing. */
export function withNextPage(rows: Rows, page: Rows): Rows {
  const last = rows.at(-1)?.run_id;
  return [...rows, ...(last === undefined ? page : page.filter(({ run_id }) => run_id < last))];
}

/** Returns the rows after one was read again. Null: it no longer belongs to the list. */
export function withRow(rows: Rows, run_id: string, row: RunRow | null): Rows {
  return rows.flatMap((each) => (each.run_id !== run_id ? [each] : row === null ? [] : [row]));
}
