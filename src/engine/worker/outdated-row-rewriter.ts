import type { Event } from "../../core/event/event.ts";
import { historyRows } from "../../core/evolve/event-rows.ts";
import { emptyRun } from "../../core/run/run.ts";
import type { Entry, Put } from "../../core/store/store.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import { JournalCodec } from "../journal/journal-codec.ts";
import type { WorkerPorts } from "./worker-ports.ts";

/** The number of runs whose rows are folded again between two sweeps. */
const RUNS_PER_SWEEP = 50;

/** Folds the rows of runs again that an older version wrote, some with each sweep, until there are no more. */
export class OutdatedRowRewriter {
  readonly #ports: WorkerPorts;
  #isDone = false;

  constructor(ports: WorkerPorts) {
    this.#ports = ports;
  }

  async refoldSome(): Promise<void> {
    if (this.#isDone) return;
    const runs = await this.#ports.store.outdatedRuns(RUNS_PER_SWEEP);
    this.#isDone = runs.length === 0;
    for (const { tenant, run } of runs) await this.#refold(tenant, run);
  }

  /** Writes the rows of the run that have no version of their own. Those of an erased run stay as they are. */
  async #refold(tenant: Tenant, run: RunId): Promise<void> {
    const { store } = this.#ports;
    const events = await this.#readEvents(tenant, run);
    const entry: Entry = {
      tenant,
      run,
      expect: { position: events?.length ?? 0, epoch: null },
      events: [],
      puts: events === null ? [] : rewrittenRows(tenant, run, events),
      charges: [],
      checks: [],
      flush: "soft",
    };
    // If the run has new events meanwhile, the next sweep folds it again.
    const [result] = entry.puts.length === 0 ? [{ landed: true }] : await store.append([entry]);
    if (result?.landed) await store.markRefolded(tenant, run);
  }

  async #readEvents(tenant: Tenant, run: RunId): Promise<readonly Event[] | null> {
    const { store } = this.#ports;
    const journal = new JournalCodec(tenant, run);
    const events: Event[] = [];
    for (const stored of await store.events(tenant, run, 0)) {
      if (stored.body === null) return null;
      events.push(await journal.open<Event>(stored, store));
    }
    return events;
  }
}

/** Keeps the last put of each row, which has the current content. */
function rewrittenRows(tenant: Tenant, run: RunId, events: readonly Event[]): readonly Put[] {
  const rows = new Map<string, Put>();
  for (const put of historyRows(emptyRun(run, tenant), events))
    if (put.table === "run" || put.table === "timer" || put.table === "outcome" || put.table === "doubt")
      rows.set(`${put.table} ${put.key}`, put);
  return [...rows.values()];
}
