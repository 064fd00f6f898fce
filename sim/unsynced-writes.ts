import type { Entry } from "../src/core/store/store.ts";
import type { Rng } from "./rng.ts";
import type { SimContext } from "./sim-context.ts";

/** The writes since the last synced write, which a power cut may lose. */
export class UnsyncedWrites {
  readonly #undos: (() => void)[] = [];

  /** Prepares an entry that is about to be written; the caller calls the result once it is written. */
  prepare(sim: SimContext, entry: Entry): () => void {
    if (entry.flush === "hard") return () => void this.#undos.splice(0);
    const undo = undoEntry(sim, entry);
    return () => void this.#undos.push(undo);
  }

  /** Loses the newest writes or all of them, never one in the middle, and returns their number. */
  lose(rng: Rng): number {
    const lost = this.#undos.splice(rng.chance(0.5) ? 0 : rng.below(this.#undos.length + 1));
    for (const undo of lost.reverse()) undo();
    return lost.length;
  }
}

function undoEntry({ tables, observer }: SimContext, { tenant, run, puts, charges }: Entry): () => void {
  const position = tables.position(tenant, run);
  const rows = puts.map(({ table, key }) => ({ table, key, row: tables.row(tenant, table, key) }));
  const used = charges.map(({ tally }) => ({ tally, used: tables.used(tenant, tally) }));
  const restoreObserved = observer.save(run);
  return () => {
    tables.events.get(tenant, run)?.splice(position);
    for (const { table, key, row } of rows) {
      if (row === null) tables.rows(table).remove(tenant, key);
      else tables.rows(table).set([tenant, key], row);
    }
    for (const { tally, used: before } of used.reverse()) tables.tallies.set([tenant, tally], before);
    restoreObserved();
  };
}
