import { judge, type View } from "../../core/judge.ts";
import type { Entry, Landing } from "../../core/store.ts";
import { type Batch, nameOf, promised } from "./batch.ts";

/** What `writ.append` found of the entries that did not land. Entries, keys and tallies are counted from 1. */
export interface Facts {
  readonly entries: readonly {
    readonly entry: number;
    readonly position: number;
    readonly epoch: number | null;
    readonly hash: string | null;
    /** Of each tally, when it was this entry's turn; only if a charge of it was refused. */
    readonly used: readonly number[] | null;
  }[];
  readonly keys?:
    | readonly { readonly key: number; readonly version: number | null; readonly row: string | null }[]
    | null;
  /** The numbers of the entries whose runs could not be claimed. */
  readonly unclaimed?: readonly number[];
}

const yes: Landing = { landed: true };

/** The answer to each entry, in the order of the batch. Null: what kept it from landing is gone by now, so it is sent again. */
export function landingsOf(batch: Batch, facts: Facts | null): readonly (Landing | null)[] {
  if (facts === null) return batch.entries.map(() => yes);
  const failed = new Map(facts.entries.map((found) => [found.entry, found]));
  return batch.entries.map((entry, index) => {
    const found = failed.get(index + 1);
    return found === undefined ? yes : verdict(entry, batch, facts, found);
  });
}

function verdict(entry: Entry, batch: Batch, { keys }: Facts, found: Facts["entries"][number]): Landing | null {
  const rows = new Map(
    (keys ?? []).map(({ key, version, row }) => {
      const name = batch.keys[key - 1];
      const stored = name === undefined || version === null ? null : { key: name.key, version, row: row ?? "" };
      return [name === undefined ? "" : nameOf(name), stored] as const;
    }),
  );
  const view: View = {
    epoch: () => found.epoch,
    position: () => found.position,
    hash: () => (found.hash === null ? null : Buffer.from(found.hash, "hex")),
    row: (_, table, key) => rows.get(nameOf({ table, key })) ?? null,
    used: (_, tally) => found.used?.[batch.tallies.indexOf(tally)] ?? 0,
  };
  const landing = judge({ ...entry, checks: promised(entry.checks) }, view);
  return landing.landed ? null : landing;
}
