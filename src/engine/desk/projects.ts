import { assert } from "../../core/assert.ts";
import type { Fault } from "../../core/fault.ts";
import type { Instant, Tenant } from "../../core/id.ts";
import type { ProjectRow, StatePoint } from "../../core/rows.ts";
import type { Kept, Told } from "../../core/state/kept.ts";
import type { Patch } from "../../core/state/patch.ts";
import { NO_STATE, type ProjectState, patched } from "../../core/state/project-state.ts";
import type { SliceFolds } from "../../core/state/slice-fold.ts";
import type { StateChange } from "../../core/state/state-change.ts";
import type { Store } from "../../core/store.ts";
import { keep } from "./keeping.ts";
import { Lines, type Turn } from "./lines.ts";
import { type Past, pastOf, Trail, toldBy } from "./past.ts";

/** State as it was at one point, and the patch that made it so. */
export interface Version extends Pick<Told, "version" | "at" | "patch" | "kept"> {
  /** Null: nothing was ever written. */
  readonly point: StatePoint | null;
  readonly state: ProjectState;
}

const NOTHING_YET: Version = { version: 0, at: 0 as Instant, point: null, state: NO_STATE, patch: [] };

/** So many versions back it can be told without reading whether two calls were in each other's way. */
const RECENT = 1000;

/** So many projects are kept in mind that nobody works on at the moment. */
const IDLE_MOST = 500;

export interface ProjectTerms {
  readonly folds: SliceFolds;
  /** After so many versions they are kept in one piece. */
  readonly every: number;
  /** How many versions someone who comes cold wants to be able to go back over. */
  readonly recent: number;
}

/**
 * The states of projects as this engine knows them. The truth is in the journals: each version is told by the event that made
 * it, which names the one before. A state is folded once, and from then on only what is new is read.
 */
export class Projects {
  readonly #store: Store;
  readonly #terms: ProjectTerms;
  readonly #known: Map<string, Project>;
  readonly #lines = new Lines();

  constructor(store: Store, terms: ProjectTerms, known: Iterable<readonly [string, Project]> = []) {
    this.#store = store;
    this.#terms = terms;
    this.#known = new Map(known);
  }

  /** The same states, going on by themselves on another store. */
  on(store: Store): Projects {
    return new Projects(
      store,
      this.#terms,
      Array.from(this.#known, ([name, project]) => [name, project.copy(store)] as const),
    );
  }

  /** A project with its state as it is now, as far as nobody has written since it was last looked at. Whoever opens it leaves it. */
  async open(tenant: Tenant, key: string, forked: StatePoint | null = null): Promise<Project> {
    const name = nameOf(tenant, key);
    const project = this.#known.get(name) ?? new Project({ store: this.#store, ...this.#terms }, tenant, key, forked);
    this.#known.delete(name);
    this.#known.set(name, project); // The one that was asked for last is forgotten last.
    project.enter();
    this.#forgetSome();
    try {
      await project.freshen();
    } catch (error) {
      project.leave();
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

  landed(tenant: Tenant, change: StateChange, where: Omit<StatePoint, "commit">, at: Instant): void {
    const point = { ...where, commit: change.commit };
    this.#known.get(nameOf(tenant, change.project))?.landed(change, toldBy(change, point, at));
  }

  /** Somebody else's version came before that of someone who works with it. */
  async catchUp(tenant: Tenant, key: string): Promise<void> {
    const project = this.#known.get(nameOf(tenant, key));
    assert(project !== undefined, "a project that someone works with is not forgotten");
    project.doubt();
    await project.freshen();
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
    for (const [name, { isIdle }] of this.#known) {
      if (isIdle) this.#known.delete(name);
      if (this.#known.size <= IDLE_MOST) return;
    }
  }
}

/** One project's state, and its latest versions. */
export class Project {
  readonly tenant: Tenant;
  readonly key: string;
  /** As long as anyone works with it, it is kept. */
  #users = 0;
  readonly #archive: ProjectTerms & { readonly store: Store };
  readonly #forked: StatePoint | null;
  /** The latest versions without a gap, oldest first; never empty. */
  #versions: Version[];
  #fresh = false;
  #freshening: Promise<void> | null = null;
  /** What is kept in one piece up to the latest version, as far as is known. */
  #kept: Kept | null = null;
  /** What is kept, though no version has said so yet. */
  #unsaid: Kept | null = null;
  #keeping = false;

  /** `forked`: where another state is told that this one goes on from. */
  constructor(
    archive: ProjectTerms & { readonly store: Store },
    tenant: Tenant,
    key: string,
    forked: StatePoint | null,
    versions: readonly Version[] = [NOTHING_YET],
  ) {
    this.#archive = archive;
    this.tenant = tenant;
    this.key = key;
    this.#forked = forked;
    this.#versions = [...versions];
  }

  copy(store: Store): Project {
    return new Project({ ...this.#archive, store }, this.tenant, this.key, this.#forked, this.#versions);
  }

  get head(): Version {
    return this.#versions.at(-1) as Version;
  }

  get isIdle(): boolean {
    return this.#users === 0;
  }

  enter(): void {
    this.#users += 1;
  }

  leave(): void {
    this.#users -= 1;
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

  /** The latest version of which this is true, however long ago that was; null: of none. */
  async latest(isIt: (version: Pick<Version, "version" | "at">) => boolean): Promise<Version | null> {
    const found = this.#versions.findLast(isIt);
    if (found !== undefined) return found;
    const isIts = (told: Told) => this.#isBefore(told) || isIt(told);
    const past = await pastOf(this.#trail((this.#versions[0] as Version).point), {
      isKnown: () => false,
      isEnough: isIts,
      isWanted: isIts,
    });
    return this.#folded(past, [NOTHING_YET]).findLast(isIt) ?? null;
  }

  /** Why the latest version may not become what a patch makes of it; null: it may. */
  flawIn(patch: Patch): Fault | null {
    return this.#archive.folds.flawIn(this.head.state, patch);
  }

  /** A version on top of the latest. */
  change(patch: Patch, commit: string): StateChange {
    const { version, point } = this.head;
    const kept = this.#unsaid;
    return { project: this.key, version: version + 1, commit, upon: point, patch, ...(kept && { kept }) };
  }

  landed(change: StateChange, told: Told): void {
    const { head } = this;
    if (change.version === head.version + 1 && change.upon?.commit === head.point?.commit) {
      this.#push(told);
      this.#keepSome();
    } else {
      this.doubt();
    }
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
    const from = this.head.point;
    try {
      const stored = await this.#archive.store.row(this.tenant, "project", this.key);
      const point = stored === null ? this.#forked : (JSON.parse(stored.row) as ProjectRow);
      await this.#walkTo(point, from);
    } catch (error) {
      this.#fresh = false;
      throw error;
    }
  }

  /** `from`: where it ended when the store was asked for the point. */
  async #walkTo(point: StatePoint | null, from: StatePoint | null): Promise<void> {
    const { recent } = this.#archive;
    const past = await pastOf(this.#trail(point), {
      isKnown: (known) => this.#lastAt(known) >= 0,
      isEnough: (told, newest) => this.#isBefore(told) || newest.version - told.version >= recent,
      isWanted: () => true,
    });
    // What landed here meanwhile is newer than the answer.
    if (this.head.point?.commit !== from?.commit && this.#lastAt(point) >= 0) return;
    this.#cutBack(past.upon);
    this.#versions = this.#folded(past, this.#versions);
    this.#forgetSome();
    for (const { kept } of past.told) if (kept !== undefined) this.#said(kept);
  }

  #trail(from: StatePoint | null): Trail {
    return new Trail(this.#archive.store, this.tenant, from);
  }

  /** What another project's versions add up to is where this one begins. */
  #isBefore({ project }: Told): boolean {
    return project !== this.key;
  }

  /** From the end: it is nearly always the latest one. */
  #lastAt(point: StatePoint | null): number {
    return this.#versions.findLastIndex((version) => version.point?.commit === point?.commit);
  }

  /** Forgets what came after a point: the store has lost it, or it came another way. */
  #cutBack(point: StatePoint | null): void {
    const at = this.#lastAt(point);
    if (at >= 0) this.#versions.length = at + 1;
    else this.#versions = [NOTHING_YET];
    const { version } = this.head;
    if (this.#kept !== null && this.#kept.version > version) this.#kept = null;
    if (this.#unsaid !== null && this.#unsaid.version > version) this.#unsaid = null;
  }

  /** Versions, and what came after them. */
  #folded({ whole, told }: Past, from: readonly Version[]): Version[] {
    let versions = whole === null ? [...from] : [this.#begin(whole.at, whole.state)];
    for (const one of told) {
      const before = (versions.at(-1) as Version).state;
      const state = patched(before, one.patch);
      this.#archive.folds.carry(before, one.patch, state);
      if (this.#isBefore(one)) versions = [this.#begin(one, state)];
      else versions.push({ ...one, state });
    }
    return versions;
  }

  #begin(told: Told, state: ProjectState): Version {
    const { version, at, point } = told;
    return { version: this.#isBefore(told) ? 0 : version, at, point, state, patch: [] };
  }

  #push(told: Told): void {
    const before = this.head.state;
    const state = patched(before, told.patch);
    this.#archive.folds.carry(before, told.patch, state);
    this.#versions.push({ ...told, state });
    this.#forgetSome();
    if (told.kept !== undefined) this.#said(told.kept);
  }

  #forgetSome(): void {
    if (this.#versions.length > 2 * RECENT) this.#versions.splice(0, this.#versions.length - RECENT);
  }

  #said(kept: Kept): void {
    if (this.#kept === null || kept.version >= this.#kept.version) this.#kept = kept;
    if (this.#unsaid !== null && this.#unsaid.version <= kept.version) this.#unsaid = null;
  }

  /** Not waited for: nobody's call depends on it, and the next one that comes tries again. */
  #keepSome(): void {
    const from = Math.max(this.#kept?.version ?? 0, (this.#versions[0] as Version).version);
    if (this.#keeping || this.head.version - from < this.#archive.every) return;
    this.#keeping = true;
    void this.#keep(from)
      .catch(() => {})
      .finally(() => {
        this.#keeping = false;
      });
  }

  /** Keeps what came after a version in one piece, for the next change to say so. */
  async #keep(from: number): Promise<void> {
    const { store } = this.#archive;
    const { state, version, point } = this.head;
    const told = this.recent(version - from).map((one) => this.#told(one));
    const upon = this.at(from)?.point ?? null;
    const kept = await keep(store, this.tenant, { upon, told, state, last: this.#kept });
    // Meanwhile the store may have lost it, or another worker may have been quicker.
    if (this.at(version)?.point?.commit !== point?.commit || version <= (this.#kept?.version ?? 0)) return;
    this.#kept = kept;
    this.#unsaid = kept;
  }

  #told({ version, at, point, patch, kept }: Version): Told {
    assert(point !== null, "a version after the first is told somewhere");
    return { project: this.key, version, at, point, patch, ...(kept && { kept }) };
  }

  #indexOf({ version, point }: Version): number | null {
    const at = version - (this.#versions[0] as Version).version;
    const found = this.#versions[at];
    return found !== undefined && found.point?.commit === point?.commit ? at : null;
  }
}

function nameOf(tenant: Tenant, key: string): string {
  return `${tenant.length}:${tenant}${key}`;
}
