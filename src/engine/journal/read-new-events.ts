import type { Event } from "../../core/event/event.ts";
import { foldEvents } from "../../core/evolve/evolve.ts";
import type { Store } from "../../core/store/store.ts";
import { assert } from "../../core/values/assert.ts";
import type { JournalCodec } from "./journal-codec.ts";
import type { LoadedRun } from "./load-run.ts";

/** The events that were read, and the run that they lead to. */
interface NewEvents extends LoadedRun {
  readonly events: readonly Event[];
  /** The indices of the steps that the events made ready. */
  readonly fresh: readonly number[];
}

/** Reads and folds the events that follow a run. Returns null if there are none. */
export async function readNewEvents(
  journal: JournalCodec,
  store: Store,
  { run: before, head }: LoadedRun,
): Promise<NewEvents | null> {
  const { tenant, id, position } = before;
  const stored = await store.events(tenant, id, position);
  journal.assertIntact(stored, head, position);
  const events = await Promise.all(stored.map((event) => journal.open<Event>(event, store)));
  const last = stored.at(-1);
  if (last === undefined) return null;
  let run = before;
  const fresh: number[] = [];
  for (const event of events) {
    run = foldEvents(run, [event]);
    fresh.push(...run.fresh);
  }
  assert(run.position === position + events.length, "every event was folded");
  return { run, head: last.hash, events, fresh };
}
