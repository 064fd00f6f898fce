import type { Entry } from "../src/core/store.ts";
import type { Rng } from "./rng.ts";
import type { Scene } from "./scene.ts";

/** What a power cut may take: everything that was written since the last write that was synced. */
export class Unsynced {
  readonly #undos: (() => void)[] = [];

  /** About to be written. Answers with what to call once it is. */
  writes(scene: Scene, entry: Entry): () => void {
    if (entry.flush === "hard") return () => void this.#undos.splice(0);
    const undo = undoing(scene, entry);
    return () => void this.#undos.push(undo);
  }

  /** The newest of it is gone, or all of it; never something in the middle. */
  lose(rng: Rng): number {
    const lost = this.#undos.splice(rng.chance(0.5) ? 0 : rng.below(this.#undos.length + 1));
    for (const undo of lost.reverse()) undo();
    return lost.length;
  }
}

function undoing({ tables, record }: Scene, { tenant, run, puts, charges }: Entry): () => void {
  const position = tables.position(tenant, run);
  const rows = puts.map(({ table, key }) => ({ table, key, row: tables.row(tenant, table, key) }));
  const used = charges.map(({ tally }) => ({ tally, used: tables.used(tenant, tally) }));
  const recall = record.memory(run);
  return () => {
    tables.events.get(tenant, run)?.splice(position);
    for (const { table, key, row } of rows) {
      if (row === null) tables.rows(table).remove(tenant, key);
      else tables.rows(table).set([tenant, key], row);
    }
    for (const { tally, used: before } of used.reverse()) tables.tallies.set([tenant, tally], before);
    recall();
  };
}
