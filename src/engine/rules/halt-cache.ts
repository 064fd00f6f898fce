import type { Run } from "../../core/run/run.ts";
import { findHalt, type HaltFact, noHalts, notHalted } from "../../core/settings/halt.ts";
import { unlockedProject } from "../../core/settings/project-lock.ts";
import { type Check, type StoredRow, sharedTenant } from "../../core/store/store.ts";
import type { HaltRow, ProjectLockRow } from "../../core/store/tables.ts";
import { waitTimes } from "../../core/time/wait-times.ts";
import type { Instant } from "../../core/values/ids.ts";
import { haltJournal, projectLockJournal } from "../journal/journal-names.ts";
import type { RulesPorts } from "./rules-ports.ts";

/**
 * A worker's cache of halts and closed projects. The append that starts an act also checks the rows themselves, so a
 * new halt always stops it.
 */
export interface HaltCache {
  /** Reads the rows if the cached ones are old or outdated. Null: they are fresh. */
  refreshIfStale(place: HaltScope): Promise<void> | null;
  refresh(place: HaltScope): Promise<void>;
  /** Returns whether the rows were read within this time. Default: the time that a cached row counts as fresh. */
  isFresh(place: HaltScope, withinMs?: number): boolean;
  /** Returns whether another process is known to have written since the rows were read. */
  isOutdated(place: HaltScope): boolean;
  of(run: Run): HaltFact;
}

type HaltScope = Pick<Run, "tenant" | "project">;

/** Returns whether a run is halted, by rows that are fresh. */
export async function isHaltedNow(halts: HaltCache, run: Run): Promise<boolean> {
  const looking = halts.refreshIfStale(run);
  if (looking !== null) await looking;
  return halts.of(run).halt !== null;
}

/** Used by simulations, which no halt stops. */
export const neverHalted: HaltCache = {
  refreshIfStale: () => null,
  refresh: async () => {},
  isFresh: () => true,
  isOutdated: () => false,
  of: () => notHalted,
};

interface CachedHalts {
  readonly at: Instant;
  /** The changes of the store before the rows were read. */
  readonly changes: number | null;
  readonly row: HaltRow;
  readonly closure: HaltFact["closure"];
  readonly checks: readonly Check[];
}

/** Cached tenants and projects. */
const CACHED_SCOPES_MAX = 1000;

export class StoreHaltCache implements HaltCache {
  readonly #ports: RulesPorts;
  readonly #known = new Map<string, CachedHalts>();
  readonly #reading = new Map<string, Promise<void>>();

  constructor(ports: RulesPorts) {
    this.#ports = ports;
  }

  refreshIfStale(place: HaltScope): Promise<void> | null {
    return this.isFresh(place) && !this.isOutdated(place) ? null : this.refresh(place);
  }

  /** If the clock was set back, the rows are not fresh. */
  isFresh(place: HaltScope, withinMs: number = waitTimes.haltCacheMs): boolean {
    const since = this.#ports.clock.now() - (this.#known.get(scopeName(place))?.at ?? Number.NEGATIVE_INFINITY);
    return since >= 0 && since < withinMs;
  }

  isOutdated(place: HaltScope): boolean {
    return this.#known.get(scopeName(place))?.changes !== this.#ports.store.changes();
  }

  /** Concurrent callers share one read. */
  refresh(place: HaltScope): Promise<void> {
    const name = scopeName(place);
    const current = this.#reading.get(name);
    if (current !== undefined) return current;
    const reading = this.#read(place).finally(() => this.#reading.delete(name));
    this.#reading.set(name, reading);
    return reading;
  }

  async #read(place: HaltScope): Promise<void> {
    const { tenant, project } = place;
    const { store, clock } = this.#ports;
    const at = clock.now();
    const changes = store.changes();
    const journal = project === null ? null : projectLockJournal(project);
    const [own, all, closed] = await Promise.all([
      store.row(tenant, "setting", haltJournal),
      store.row(sharedTenant, "setting", haltJournal),
      journal && store.row(tenant, "setting", journal),
    ]);
    const halts = [all, own].flatMap((row) => (row === null ? noHalts : (JSON.parse(row.row) as HaltRow)).halts);
    const { closure } = closed === null ? unlockedProject : (JSON.parse(closed.row) as ProjectLockRow);
    const checks: Check[] = [haltRowCheck(haltJournal, own, "own"), haltRowCheck(haltJournal, all, "house")];
    if (journal !== null) checks.push(haltRowCheck(journal, closed, "own"));
    const name = scopeName(place);
    this.#known.delete(name);
    this.#known.set(name, { at, changes, row: { halts }, closure, checks });
    // Drop the least recently read entry.
    if (this.#known.size > CACHED_SCOPES_MAX) this.#known.delete(this.#known.keys().next().value as string);
  }

  of(run: Run): HaltFact {
    const known = this.#known.get(scopeName(run));
    if (known === undefined) return UNREAD_HALTS;
    const { row, closure, checks } = known;
    return { halt: row.halts.length === 0 ? null : findHalt(row, run), closure, checks };
  }
}

/** The fact for rows that were never read. No row has version -1, so the append fails and the rows are read. */
const UNREAD_HALTS: HaltFact = {
  ...notHalted,
  checks: [{ table: "setting", key: haltJournal, was: -1, glance: "own" }],
};

function haltRowCheck(key: string, found: StoredRow | null, whose: "own" | "house"): Check {
  return { table: "setting", key, was: found?.version ?? null, glance: whose };
}

function scopeName({ tenant, project }: HaltScope): string {
  return project === null ? tenant : `${tenant}\0${project}`;
}
