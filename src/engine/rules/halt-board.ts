import { unclosed } from "../../core/closure.ts";
import { type HaltFact, haltOver, noHalts, unhalted } from "../../core/halt.ts";
import type { Instant, RunId } from "../../core/id.ts";
import type { ClosureRow, HaltRow } from "../../core/rows.ts";
import type { Run } from "../../core/run.ts";
import { type Check, house, type Store, type StoredRow } from "../../core/store.ts";
import type { Clock } from "../../core/time/clock.ts";

/** What a worker knows of the halts that stand, and of projects that are closed. What acts is judged by the rows they are read from, so that none gets past a new one. */
export interface HaltBoard {
  /** Looks, if that was long ago; null: it was not. */
  reading(place: Place): Promise<void> | null;
  readAnew(place: Place): Promise<void>;
  /** Whether it was looked at no longer ago than that; by default, than what was read is taken for what is. */
  isFresh(place: Place, withinMs?: number): boolean;
  of(run: Run): HaltFact;
}

/** Where a run is. */
type Place = Pick<Run, "tenant" | "project">;

/** Whether somebody has halted a run, by a look that is not old. */
export async function isHaltedNow(halts: HaltBoard, run: Run): Promise<boolean> {
  const looking = halts.reading(run);
  if (looking !== null) await looking;
  return halts.of(run).halt !== null;
}

/** For a rehearsal, in which nothing happens that could be halted. */
export const noBoard: HaltBoard = {
  reading: () => null,
  readAnew: async () => {},
  isFresh: () => true,
  of: () => unhalted,
};

/** One for each tenant, and one for the house. */
export const haltJournal = "hlt_all" as RunId;

export function isHaltJournal(journal: RunId): boolean {
  return journal === haltJournal;
}

/** One for each project that was ever closed. */
export function closureJournal(project: string): RunId {
  return `prj_${project}` as RunId;
}

export function isClosureJournal(journal: RunId): boolean {
  return journal.startsWith("prj_");
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
  readonly closure: HaltFact["closure"];
  readonly checks: readonly Check[];
}

/** So many places are remembered; projects come and go. */
const PLACES_MOST = 1000;

export class StoredHalts implements HaltBoard {
  readonly #doors: Doors;
  readonly #known = new Map<string, Known>();
  readonly #reading = new Map<string, Promise<void>>();

  constructor(doors: Doors) {
    this.#doors = doors;
  }

  reading(place: Place): Promise<void> | null {
    return this.isFresh(place) ? null : this.readAnew(place);
  }

  /** A clock that was set back says nothing of how long ago it was. */
  isFresh(place: Place, withinMs: number = FRESH_MS): boolean {
    const since = this.#doors.clock.now() - (this.#known.get(nameOf(place))?.at ?? Number.NEGATIVE_INFINITY);
    return since >= 0 && since < withinMs;
  }

  /** Once for all who want to know at the same time. */
  readAnew(place: Place): Promise<void> {
    const name = nameOf(place);
    const under = this.#reading.get(name);
    if (under !== undefined) return under;
    const reading = this.#read(place).finally(() => this.#reading.delete(name));
    this.#reading.set(name, reading);
    return reading;
  }

  async #read(place: Place): Promise<void> {
    const { tenant, project } = place;
    const { store, clock } = this.#doors;
    const at = clock.now();
    const journal = project === null ? null : closureJournal(project);
    const [own, all, closed] = await Promise.all([
      store.row(tenant, "setting", haltJournal),
      store.row(house, "setting", haltJournal),
      journal && store.row(tenant, "setting", journal),
    ]);
    const halts = [all, own].flatMap((row) => (row === null ? noHalts : (JSON.parse(row.row) as HaltRow)).halts);
    const { closure } = closed === null ? unclosed : (JSON.parse(closed.row) as ClosureRow);
    const checks: Check[] = [glance(haltJournal, own, "own"), glance(haltJournal, all, "house")];
    if (journal !== null) checks.push(glance(journal, closed, "own"));
    const name = nameOf(place);
    this.#known.delete(name);
    this.#known.set(name, { at, row: { halts }, closure, checks });
    // Who was looked at longest ago is forgotten, not whoever is about to begin.
    if (this.#known.size > PLACES_MOST) this.#known.delete(this.#known.keys().next().value as string);
  }

  of(run: Run): HaltFact {
    const known = this.#known.get(nameOf(run));
    if (known === undefined) return unknown;
    const { row, closure, checks } = known;
    return { halt: row.halts.length === 0 ? null : haltOver(row, run), closure, checks };
  }
}

/** Of what nobody looked at, nothing may begin: no row has this version, so that whoever would begin is sent to look. */
const unknown: HaltFact = { ...unhalted, checks: [{ table: "setting", key: haltJournal, was: -1, glance: "own" }] };

function glance(key: string, found: StoredRow | null, whose: "own" | "house"): Check {
  return { table: "setting", key, was: found?.version ?? null, glance: whose };
}

function nameOf({ tenant, project }: Place): string {
  return project === null ? tenant : `${tenant}\0${project}`;
}
