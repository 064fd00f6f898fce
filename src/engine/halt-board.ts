import type { Clock } from "../core/clock.ts";
import { type HaltFact, haltOver, noHalts, unhalted } from "../core/halt.ts";
import type { Instant, RunId, Tenant } from "../core/id.ts";
import type { HaltRow } from "../core/rows.ts";
import type { Run } from "../core/run.ts";
import { type Check, house, type Store } from "../core/store.ts";

/** What a worker knows of the halts that stand. What acts is judged by the rows they are read from, so that none gets past a new one. */
export interface HaltBoard {
  /** Looks, if that was long ago; null: it was not. */
  reading(tenant: Tenant): Promise<void> | null;
  readAnew(tenant: Tenant): Promise<void>;
  of(run: Run): HaltFact;
}

/** For a rehearsal, in which nothing happens that could be halted. */
export const noBoard: HaltBoard = { reading: () => null, readAnew: async () => {}, of: () => unhalted };

/** One for each tenant, and one for the house. */
export const haltJournal = "hlt_all" as RunId;

export function isHaltJournal(journal: RunId): boolean {
  return journal === haltJournal;
}

/** So long what was read is taken for what is. */
const FRESH_MS = 1000;

interface Doors {
  readonly store: Store;
  readonly clock: Clock;
}

interface Known {
  readonly at: Instant;
  readonly row: HaltRow;
  readonly checks: readonly Check[];
}

export class StoredHalts implements HaltBoard {
  readonly #doors: Doors;
  readonly #known = new Map<Tenant, Known>();
  readonly #reading = new Map<Tenant, Promise<void>>();

  constructor(doors: Doors) {
    this.#doors = doors;
  }

  reading(tenant: Tenant): Promise<void> | null {
    const since = this.#doors.clock.now() - (this.#known.get(tenant)?.at ?? Number.NEGATIVE_INFINITY);
    return since >= 0 && since < FRESH_MS ? null : this.readAnew(tenant);
  }

  /** Once for all who want to know at the same time. */
  readAnew(tenant: Tenant): Promise<void> {
    const under = this.#reading.get(tenant);
    if (under !== undefined) return under;
    const reading = this.#read(tenant).finally(() => this.#reading.delete(tenant));
    this.#reading.set(tenant, reading);
    return reading;
  }

  async #read(tenant: Tenant): Promise<void> {
    const { store, clock } = this.#doors;
    const at = clock.now();
    const [own, all] = await Promise.all([
      store.row(tenant, "setting", haltJournal),
      store.row(house, "setting", haltJournal),
    ]);
    const halts = [all, own].flatMap((row) => (row === null ? noHalts : (JSON.parse(row.row) as HaltRow)).halts);
    const looked = { table: "setting", key: haltJournal } as const;
    const checks: readonly Check[] = [
      { ...looked, was: own?.version ?? null, glance: "own" },
      { ...looked, was: all?.version ?? null, glance: "house" },
    ];
    this.#known.set(tenant, { at, row: { halts }, checks });
  }

  of(run: Run): HaltFact {
    const known = this.#known.get(run.tenant);
    if (known === undefined) return unhalted;
    return { halt: known.row.halts.length === 0 ? null : haltOver(known.row, run), checks: known.checks };
  }
}
