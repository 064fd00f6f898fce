import type { Event } from "../core/event.ts";
import { FaultError, fault } from "../core/fault.ts";
import type { RunId, Tenant } from "../core/id.ts";
import type { Patch } from "../core/patch.ts";
import { NO_STATE, type ProjectState, patched } from "../core/project-state.ts";
import type { ProjectRow, StatePoint } from "../core/rows.ts";
import type { StateChange } from "../core/state-change.ts";
import type { Store, StoredEvent } from "../core/store.ts";
import { GENESIS, Journal } from "./journal.ts";
import { Lines, type Turn } from "./lines.ts";

/** State as it was at one point, and the patch that made it so. */
export interface Version {
  readonly version: number;
  /** Null: nothing was ever written. */
  readonly point: StatePoint | null;
  readonly state: ProjectState;
  readonly patch: Patch;
}

const NOTHING_YET: Version = { version: 0, point: null, state: NO_STATE, patch: [] };

/** So many versions back it can be told without reading whether two calls were in each other's way. */
const RECENT = 1000;

/** So many projects are kept in mind that nobody works on at the moment. */
const IDLE_MOST = 500;

/**
 * The states of projects as this engine knows them. The truth is in the journals: each version is told by the event that made
 * it, which names the one before. A state is folded once, and from then on only what is new is read.
 */
export class Projects {
  readonly #store: Store;
  readonly #known: Map<string, Project>;
  readonly #lines = new Lines();

  constructor(store: Store, known: Iterable<readonly [string, Project]> = []) {
    this.#store = store;
    this.#known = new Map(known);
  }

  /** The same states, going on by themselves on another store. */
  on(store: Store): Projects {
    return new Projects(
      store,
      Array.from(this.#known, ([name, project]) => [name, project.copy(store)] as const),
    );
  }

  /** A project with its state as it is now, as far as nobody has written since it was last looked at. */
  async open(tenant: Tenant, key: string, forked: StatePoint | null = null): Promise<Project> {
    const name = nameOf(tenant, key);
    const project = this.#known.get(name) ?? new Project(this.#store, tenant, key, forked);
    this.#known.delete(name);
    this.#known.set(name, project); // The one that was asked for last is forgotten last.
    project.users += 1;
    this.#forgetSome();
    try {
      await project.freshen();
    } catch (error) {
      project.users -= 1;
      throw error;
    }
    return project;
  }

  /** Others may have written: who opens it next looks first. */
  doubt(tenant: Tenant, key: string): void {
    this.#known.get(nameOf(tenant, key))?.doubt();
  }

  doubtAll(): void {
    for (const project of this.#known.values()) project.doubt();
  }

  landed(tenant: Tenant, change: StateChange, at: Omit<StatePoint, "commit">): void {
    this.#known.get(nameOf(tenant, change.project))?.landed(change, { ...at, commit: change.commit });
  }

  /** Somebody else's version came first. */
  async catchUp(tenant: Tenant, key: string): Promise<void> {
    const project = this.#known.get(nameOf(tenant, key));
    project?.doubt();
    await project?.freshen();
  }

  /**
   * Calls that were overtaken are made again one after the other: side by side, all but one would be in vain each time. Those
   * of other workers are kept apart by chance (retry.ts).
   */
  queue(tenant: Tenant, key: string, next: () => void): Turn {
    return this.#lines.join(nameOf(tenant, key), next);
  }

  #forgetSome(): void {
    if (this.#known.size <= IDLE_MOST) return;
    for (const [name, { users }] of this.#known) {
      if (users === 0) this.#known.delete(name);
      if (this.#known.size <= IDLE_MOST) return;
    }
  }
}

/** One project's state, and its latest versions. */
export class Project {
  readonly tenant: Tenant;
  readonly key: string;
  /** How many work with it: as long as anyone does, it is kept. */
  users = 0;
  readonly #store: Store;
  readonly #forked: StatePoint | null;
  /** The latest versions without a gap, oldest first; never empty. */
  #versions: Version[];
  #fresh = false;
  #freshening: Promise<void> | null = null;

  /** `forked`: where another state is told that this one goes on from. */
  constructor(
    store: Store,
    tenant: Tenant,
    key: string,
    forked: StatePoint | null,
    versions: readonly Version[] = [NOTHING_YET],
  ) {
    this.#store = store;
    this.tenant = tenant;
    this.key = key;
    this.#forked = forked;
    this.#versions = [...versions];
  }

  copy(store: Store): Project {
    return new Project(store, this.tenant, this.key, this.#forked, this.#versions);
  }

  get head(): Version {
    return this.#versions.at(-1) as Version;
  }

  doubt(): void {
    this.#fresh = false;
  }

  /** What was written since a version that someone worked on; null: that cannot be told any more. */
  since(base: Version): readonly Patch[] | null {
    const at = this.#indexOf(base);
    return at === null ? null : this.#versions.slice(at + 1).map(({ patch }) => patch);
  }

  /** The version of that number, if it is one of those that are kept in mind. */
  at(version: number): Version | null {
    return this.#versions[version - (this.#versions[0] as Version).version] ?? null;
  }

  /** The latest ones, oldest first. */
  recent(most: number): readonly Version[] {
    return this.#versions.slice(-most);
  }

  landed(change: StateChange, point: StatePoint): void {
    const { head } = this;
    if (change.version === head.version + 1 && change.upon?.commit === head.point?.commit) this.#push(change, point);
    else this.doubt();
  }

  /** Whoever comes while it is being read waits for that, and looks again if there was reason to doubt it meanwhile. */
  async freshen(): Promise<void> {
    while (!this.#fresh || this.#freshening !== null) {
      this.#freshening ??= this.#catchUp().finally(() => {
        this.#freshening = null;
      });
      await this.#freshening;
    }
  }

  async #catchUp(): Promise<void> {
    this.#fresh = true; // A doubt that comes meanwhile stays.
    try {
      const stored = await this.#store.row(this.tenant, "project", this.key);
      const point = stored === null ? this.#forked : (JSON.parse(stored.row) as ProjectRow);
      const walk = await changesTo(this.#store, this.tenant, point, (upon) => this.#isKnown(upon));
      this.#cutBack(walk.from);
      for (const { change, point } of walk.changes) this.#push(change, point);
    } catch (error) {
      this.#fresh = false;
      throw error;
    }
  }

  #isKnown(point: StatePoint | null): boolean {
    return this.#versions.some((version) => version.point?.commit === point?.commit);
  }

  /** Forgets what came after a point: the store has lost it, or it came another way. */
  #cutBack(point: StatePoint | null): void {
    const at = this.#versions.findLastIndex((version) => version.point?.commit === point?.commit);
    if (at >= 0) this.#versions.length = at + 1;
    else this.#versions = [NOTHING_YET];
  }

  #push(change: StateChange, point: StatePoint): void {
    const state = patched(this.head.state, change.patch);
    // What another project's versions add up to is where this one begins.
    if (change.project !== this.key) {
      this.#versions = [{ version: 0, point, state, patch: [] }];
      return;
    }
    this.#versions.push({ version: change.version, point, state, patch: change.patch });
    if (this.#versions.length > 2 * RECENT) this.#versions.splice(0, this.#versions.length - RECENT);
  }

  #indexOf({ version, point }: Version): number | null {
    const at = version - (this.#versions[0] as Version).version;
    const found = this.#versions[at];
    return found !== undefined && found.point?.commit === point?.commit ? at : null;
  }
}

interface Walk {
  /** The point that was known already; null: nothing was. */
  readonly from: StatePoint | null;
  /** What came after it, oldest first. */
  readonly changes: readonly { readonly change: StateChange; readonly point: StatePoint }[];
}

/** Goes back from a point, change by change, to one that is known. */
async function changesTo(
  store: Store,
  tenant: Tenant,
  to: StatePoint | null,
  isKnown: (point: StatePoint | null) => boolean,
): Promise<Walk> {
  const pages = new Pages(store, tenant);
  const changes: { change: StateChange; point: StatePoint }[] = [];
  let point = to;
  while (point !== null && !isKnown(point)) {
    const change = await pages.changeAt(point);
    changes.push({ change, point });
    point = change.upon;
  }
  return { from: point, changes: changes.reverse() };
}

/** The event that tells a version. */
export function eventAtPoint(store: Store, tenant: Tenant, point: StatePoint): Promise<Event | null> {
  return new Pages(store, tenant).eventAt(point);
}

/** Versions that follow each other are often told by the same run. */
const PAGE = 200;

/** Journals, read backwards a page at a time. */
class Pages {
  readonly #store: Store;
  readonly #tenant: Tenant;
  #run: RunId | null = null;
  #page: readonly StoredEvent[] = [];

  constructor(store: Store, tenant: Tenant) {
    this.#store = store;
    this.#tenant = tenant;
  }

  async changeAt(point: StatePoint): Promise<StateChange> {
    const { run_id, position, commit } = point;
    const event = await this.eventAt(point);
    const change = event !== null && "state" in event ? event.state : undefined;
    if (change?.commit === commit) return change;
    const message = `event ${position} of run ${run_id} does not tell the state that is said to be there; audit the run`;
    throw new FaultError(fault("CHAIN_BROKEN", message));
  }

  async eventAt({ run_id, position }: StatePoint): Promise<Event | null> {
    if (run_id !== this.#run || !this.#page.some((event) => event.position === position))
      await this.#turnTo(run_id, position);
    const stored = this.#page.find((event) => event.position === position);
    return stored === undefined ? null : new Journal(this.#tenant, run_id).open<Event>(stored, this.#store);
  }

  async #turnTo(run: RunId, position: number): Promise<void> {
    const before = Math.max(0, position - PAGE);
    const found = await this.#store.events(this.#tenant, run, before, position - before);
    const [first, ...rest] = found;
    const journal = new Journal(this.#tenant, run);
    if (first !== undefined && before === 0) journal.assertIntact([first], GENESIS);
    if (first !== undefined) journal.assertIntact(rest, first.hash, first.position);
    this.#run = run;
    this.#page = before === 0 ? found : rest;
  }
}

function nameOf(tenant: Tenant, key: string): string {
  return `${tenant.length}:${tenant}${key}`;
}
