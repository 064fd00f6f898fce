import { type AppendView, checkEntry } from "../../core/store/check-entry.ts";
import type { AppendResult, Entry } from "../../core/store/store.ts";
import { type AppendBatch, lockedChecks, rowName } from "./append-batch.ts";

/**
 * The facts that `writ.append` found for the entries that did not land. Entries, keys and tallies are counted from 1.
 */
export interface AppendFacts {
  readonly entries: readonly {
    readonly entry: number;
    readonly position: number;
    readonly epoch: number | null;
    readonly hash: string | null;
    /** The amount used of each tally when this entry was checked; null unless one of its charges was refused. */
    readonly used: readonly number[] | null;
  }[];
  readonly keys?:
    | readonly { readonly key: number; readonly version: number | null; readonly row: string | null }[]
    | null;
  /** The numbers of the entries whose runs could not be claimed. */
  readonly unclaimed?: readonly number[];
}

const LANDED: AppendResult = { landed: true };

/**
 * Returns the result of each entry, in the order of the batch. Null: the conflict no longer exists, so it is sent
 * again.
 */
export function resultsOf(batch: AppendBatch, facts: AppendFacts | null): readonly (AppendResult | null)[] {
  if (facts === null) return batch.entries.map(() => LANDED);
  const failed = new Map(facts.entries.map((found) => [found.entry, found]));
  return batch.entries.map((entry, index) => {
    const found = failed.get(index + 1);
    return found === undefined ? LANDED : failedResult(entry, batch, facts, found);
  });
}

function failedResult(
  entry: Entry,
  batch: AppendBatch,
  { keys }: AppendFacts,
  found: AppendFacts["entries"][number],
): AppendResult | null {
  const rows = new Map(
    (keys ?? []).map(({ key, version, row }) => {
      const name = batch.keys[key - 1];
      const stored = name === undefined || version === null ? null : { key: name.key, version, row: row ?? "" };
      return [name === undefined ? "" : rowName(name), stored] as const;
    }),
  );
  const view: AppendView = {
    epoch: () => found.epoch,
    position: () => found.position,
    hash: () => (found.hash === null ? null : Buffer.from(found.hash, "hex")),
    row: (_, table, key) => rows.get(rowName({ table, key })) ?? null,
    used: (_, tally) => found.used?.[batch.tallies.indexOf(tally)] ?? 0,
  };
  const result = checkEntry({ ...entry, checks: lockedChecks(entry.checks) }, view);
  return result.landed ? null : result;
}
