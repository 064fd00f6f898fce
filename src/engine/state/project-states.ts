import type { Patch } from "../../core/state/patch.ts";
import { applyPatch, EMPTY_STATE, type ProjectState } from "../../core/state/project-state.ts";
import type { SliceSums } from "../../core/state/slice-sums.ts";
import type { StateChange } from "../../core/state/state-change.ts";
import type { RecordedVersion, SnapshotPointer } from "../../core/state/version-bundle.ts";
import type { Store } from "../../core/store/store.ts";
import type { ProjectRow, StatePoint } from "../../core/store/tables.ts";
import { assert } from "../../core/values/assert.ts";
import type { Fault } from "../../core/values/fault.ts";
import type { Instant, Tenant } from "../../core/values/ids.ts";
import { NamedQueues, type QueueTurn } from "./named-queues.ts";
import { writeSnapshot } from "./snapshot-writer.ts";
import { readStateHistory, type StateHistory, StateHistoryReader, versionRecordOf } from "./state-history.ts";

/** One version of a state, and the patch that made it. */
export interface StateVersion extends Pick<RecordedVersion, "version" | "at" | "patch" | "kept"> {
  /** Null if nothing was ever written. */
  readonly point: StatePoint | null;
  readonly state: ProjectState;
}

const EMPTY_VERSION: StateVersion = { version: 0, at: 0 as Instant, point: null, state: EMPTY_STATE, patch: [] };

/** The number of recent versions in memory. Conflicts with calls on older versions need a read of the journal. */
const RECENT_VERSIONS_MAX = 1000;

/** The number of projects in memory, above which projects without users are dropped. */
const IDLE_STATES_MAX = 500;

export interface ProjectStateOptions {
  readonly folds: SliceSums;
  /** The number of versions between two snapshots. */
  readonly every: number;
  /** The number of versions that a first read loads. */
  readonly recent: number;
}

/**
 * The states of projects that this engine has in memory. The journals are the source: the event that made a version
 * contains its patch and names the previous version. A state is folded once; later reads load only new versions.
 */
export class ProjectStates {
  readonly #store: Store;
  readonly #terms: ProjectStateOptions;
  readonly #known: Map<string, VersionedState>;
  readonly #lines = new NamedQueues();

  constructor(store: Store, terms: ProjectStateOptions, known: Iterable<readonly [string, VersionedState]> = []) {
    this.#store = store;
    this.#terms = terms;
    this.#known = new Map(known);
  }

  /** Copies the states for another store. The copies change independently. */
  withStore(store: Store): ProjectStates {
    return new ProjectStates(
      store,
      this.#terms,
      Array.from(this.#known, ([name, project]) => [name, project.copy(store)] as const),
    );
  }

  /**
   * Returns a project with its current state, and reads the store if the state may be stale. The caller must call
   * `leave`.
   */
  async open(tenant: Tenant, key: string, forked: StatePoint | null = null): Promise<VersionedState> {
    const name = stateName(tenant, key);
    const project =
      this.#known.get(name) ?? new VersionedState({ store: this.#store, ...this.#terms }, tenant, key, forked);
    this.#known.delete(name);
    this.#known.set(name, project); // The most recently opened project is dropped last.
    project.enter();
    this.#forgetSome();
    try {
      await project.refresh();
    } catch (error) {
      project.leave();
      throw error;
    }
    return project;
  }

  /** Marks a state as stale after a possible write by another worker. The next `open` reads the store. */
  markStale(tenant: Tenant, key: string): void {
    this.#known.get(stateName(tenant, key))?.markStale();
  }

  /** Marks a state as stale unless the store tells when another process has written, which `open` checks. */
  markUnwatchedStale(tenant: Tenant, key: string): void {
    if (this.#store.changes() === null) this.markStale(tenant, key);
  }

  markAllStale(): void {
    for (const project of this.#known.values()) project.markStale();
  }

  applyChange(tenant: Tenant, change: StateChange, where: Omit<StatePoint, "commit">, at: Instant): void {
    const point = { ...where, commit: change.commit };
    this.#known.get(stateName(tenant, change.project))?.applyChange(change, versionRecordOf(change, point, at));
  }

  /** Reads the versions of other workers, for a call whose version was taken by one of them. */
  async refresh(tenant: Tenant, key: string): Promise<void> {
    const project = this.#known.get(stateName(tenant, key));
    assert(project !== undefined, "a project in use stays in memory");
    project.markStale();
    await project.refresh();
  }

  /**
   * Queues the calls that lost a conflict, so that they repeat one at a time: of concurrent repetitions only one could
   * commit. Random waits separate the calls of other workers.
   */
  joinQueue(tenant: Tenant, key: string, next: () => void): QueueTurn {
    return this.#lines.join(stateName(tenant, key), next);
  }

  #forgetSome(): void {
    if (this.#known.size <= IDLE_STATES_MAX) return;
    for (const [name, { isIdle }] of this.#known) {
      if (isIdle) this.#known.delete(name);
      if (this.#known.size <= IDLE_STATES_MAX) return;
    }
  }
}

/** The state of one project, with its latest versions. */
export class VersionedState {
  readonly tenant: Tenant;
  readonly key: string;
  /** The number of users; a project with users stays in memory. */
  #users = 0;
  readonly #archive: ProjectStateOptions & { readonly store: Store };
  readonly #forked: StatePoint | null;
  /** The latest versions without a gap, oldest first; never empty. */
  #versions: StateVersion[];
  #fresh = false;
  /** The changes of the store before the latest read. */
  #changes: number | null = null;
  #freshening: Promise<void> | null = null;
  /** The latest known snapshot. */
  #snapshot: SnapshotPointer | null = null;
  /** The snapshot that the next change will name. */
  #unrecorded: SnapshotPointer | null = null;
  #isWriting = false;

  /** `forked` is the point of another state from which this one continues. */
  constructor(
    archive: ProjectStateOptions & { readonly store: Store },
    tenant: Tenant,
    key: string,
    forked: StatePoint | null,
    versions: readonly StateVersion[] = [EMPTY_VERSION],
  ) {
    this.#archive = archive;
    this.tenant = tenant;
    this.key = key;
    this.#forked = forked;
    this.#versions = [...versions];
  }

  copy(store: Store): VersionedState {
    return new VersionedState({ ...this.#archive, store }, this.tenant, this.key, this.#forked, this.#versions);
  }

  get head(): StateVersion {
    return this.#versions.at(-1) as StateVersion;
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

  markStale(): void {
    this.#fresh = false;
  }

  /** Returns the patches after a version, or null if the version is no longer in memory. */
  patchesSince(base: StateVersion): readonly Patch[] | null {
    const at = this.#indexOf(base);
    return at === null ? null : this.#versions.slice(at + 1).map(({ patch }) => patch);
  }

  /** Returns the version with this number, or null if it is not in memory. */
  versionAt(version: number): StateVersion | null {
    return this.#versions[version - (this.#versions[0] as StateVersion).version] ?? null;
  }

  /** Returns the latest versions, oldest first. */
  recentVersions(most: number): readonly StateVersion[] {
    return this.#versions.slice(-most);
  }

  /** Returns the latest version for which the predicate is true, or null. Reads the journals if it is not in memory. */
  async findLatest(isIt: (version: Pick<StateVersion, "version" | "at">) => boolean): Promise<StateVersion | null> {
    const found = this.#versions.findLast(isIt);
    if (found !== undefined) return found;
    const isIts = (recorded: RecordedVersion) => this.#isBefore(recorded) || isIt(recorded);
    const past = await readStateHistory(this.#readHistory((this.#versions[0] as StateVersion).point), {
      isKnown: () => false,
      isFarEnough: isIts,
      isWanted: isIts,
    });
    return this.#folded(past, [EMPTY_VERSION]).findLast(isIt) ?? null;
  }

  /** Returns a version and all later ones, oldest first, or null if the journals no longer have them. */
  async versionsFrom(version: number): Promise<readonly StateVersion[] | null> {
    const at = version - (this.#versions[0] as StateVersion).version;
    if (at >= 0) return this.#versions.slice(at);
    const { head } = this;
    const isThere = (recorded: RecordedVersion) => this.#isBefore(recorded) || recorded.version <= version;
    const terms = { isKnown: () => false, isFarEnough: isThere, isWanted: isThere };
    const folded = this.#folded(await readStateHistory(this.#readHistory(head.point), terms), [EMPTY_VERSION]);
    const from = folded.findIndex((found) => found.version === version);
    return from < 0 ? null : folded.slice(from);
  }

  /** Returns the violated invariant if the patch were applied to the latest version, or null. */
  invariantFault(patch: Patch): Fault | null {
    return this.#archive.folds.findFault(this.head.state, patch);
  }

  /** Returns the change that makes the next version. */
  makeChange(patch: Patch, commit: string): StateChange {
    const { version, point } = this.head;
    const kept = this.#unrecorded;
    return { project: this.key, version: version + 1, commit, upon: point, patch, ...(kept && { kept }) };
  }

  applyChange(change: StateChange, recorded: RecordedVersion): void {
    const { head } = this;
    if (change.version === head.version + 1 && change.upon?.commit === head.point?.commit) {
      this.#push(recorded);
      this.#writeDueSnapshot();
    } else {
      this.markStale();
    }
  }

  /**
   * Reads new versions until the state is fresh. Concurrent callers share a read, and read again if it became stale
   * meanwhile.
   */
  async refresh(): Promise<void> {
    if (this.#archive.store.changes() !== this.#changes) this.markStale();
    while (!this.#fresh || this.#freshening !== null) {
      this.#freshening ??= this.#catchUp().finally(() => {
        this.#freshening = null;
      });
      await this.#freshening;
    }
  }

  async #catchUp(): Promise<void> {
    this.#changes = this.#archive.store.changes();
    this.#fresh = true; // Set before the read: a `markStale` during the read must not be lost.
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

  /** `from` is the head at the time when the store was asked for `point`. */
  async #walkTo(point: StatePoint | null, from: StatePoint | null): Promise<void> {
    const { recent } = this.#archive;
    const past = await readStateHistory(this.#readHistory(point), {
      isKnown: (known) => this.#lastAt(known) >= 0,
      isFarEnough: (recorded, newest) => this.#isBefore(recorded) || newest.version - recorded.version >= recent,
      isWanted: () => true,
    });
    // A change that landed during the read is newer than the answer.
    if (this.head.point?.commit !== from?.commit && this.#lastAt(point) >= 0) return;
    if (past.whole === null && past.versions.length === 0 && this.#lastAt(past.base) === this.#versions.length - 1)
      return;
    this.#cutBack(past.base);
    this.#versions = this.#folded(past, this.#versions);
    this.#forgetSome();
    for (const { kept } of past.versions) if (kept !== undefined) this.#noteSnapshot(kept);
  }

  #readHistory(from: StatePoint | null): StateHistoryReader {
    return new StateHistoryReader(this.#archive.store, this.tenant, from);
  }

  /** True for a version of the project from which this one was forked. */
  #isBefore({ project }: RecordedVersion): boolean {
    return project !== this.key;
  }

  /** Searches from the end, because the point is usually the latest. */
  #lastAt(point: StatePoint | null): number {
    return this.#versions.findLastIndex((version) => version.point?.commit === point?.commit);
  }

  /** Drops the versions after a point: the store lost them, or another history replaced them. */
  #cutBack(point: StatePoint | null): void {
    const at = this.#lastAt(point);
    if (at >= 0) this.#versions.length = at + 1;
    else this.#versions = [EMPTY_VERSION];
    const { version } = this.head;
    if (this.#snapshot !== null && this.#snapshot.version > version) this.#snapshot = null;
    if (this.#unrecorded !== null && this.#unrecorded.version > version) this.#unrecorded = null;
  }

  /** Returns the versions extended by the history. */
  #folded({ whole, versions: recorded }: StateHistory, from: readonly StateVersion[]): StateVersion[] {
    let versions = whole === null ? [...from] : [this.#begin(whole.at, whole.state)];
    for (const one of recorded) {
      const before = (versions.at(-1) as StateVersion).state;
      const state = applyPatch(before, one.patch);
      this.#archive.folds.carry(before, one.patch, state);
      if (this.#isBefore(one)) versions = [this.#begin(one, state)];
      else versions.push({ ...one, state });
    }
    return versions;
  }

  #begin(recorded: RecordedVersion, state: ProjectState): StateVersion {
    const { version, at, point } = recorded;
    return { version: this.#isBefore(recorded) ? 0 : version, at, point, state, patch: [] };
  }

  #push(recorded: RecordedVersion): void {
    const before = this.head.state;
    const state = applyPatch(before, recorded.patch);
    this.#archive.folds.carry(before, recorded.patch, state);
    this.#versions.push({ ...recorded, state });
    this.#forgetSome();
    if (recorded.kept !== undefined) this.#noteSnapshot(recorded.kept);
  }

  #forgetSome(): void {
    if (this.#versions.length > 2 * RECENT_VERSIONS_MAX)
      this.#versions.splice(0, this.#versions.length - RECENT_VERSIONS_MAX);
  }

  #noteSnapshot(kept: SnapshotPointer): void {
    if (this.#snapshot === null || kept.version >= this.#snapshot.version) this.#snapshot = kept;
    if (this.#unrecorded !== null && this.#unrecorded.version <= kept.version) this.#unrecorded = null;
  }

  /**
   * Writes a snapshot in the background if one is due. No call depends on it, and a failure is retried after the next
   * change.
   */
  #writeDueSnapshot(): void {
    const from = Math.max(this.#snapshot?.version ?? 0, (this.#versions[0] as StateVersion).version);
    if (this.#isWriting || this.head.version - from < this.#archive.every) return;
    this.#isWriting = true;
    void this.#writeSnapshot(from)
      .catch(() => {})
      .finally(() => {
        this.#isWriting = false;
      });
  }

  /** Writes a snapshot of the versions after `from`. The next change names it. */
  async #writeSnapshot(from: number): Promise<void> {
    const { store } = this.#archive;
    const { state, version, point } = this.head;
    const versions = this.recentVersions(version - from).map((one) => this.#toRecorded(one));
    const base = this.versionAt(from)?.point ?? null;
    const kept = await writeSnapshot(store, this.tenant, { base, versions, state, last: this.#snapshot });
    // Meanwhile the store may have lost the version, or another worker may have written a snapshot.
    if (this.versionAt(version)?.point?.commit !== point?.commit || version <= (this.#snapshot?.version ?? 0)) return;
    this.#snapshot = kept;
    this.#unrecorded = kept;
  }

  #toRecorded({ version, at, point, patch, kept }: StateVersion): RecordedVersion {
    assert(point !== null, "a version after the first has a point in a journal");
    return { project: this.key, version, at, point, patch, ...(kept && { kept }) };
  }

  #indexOf({ version, point }: StateVersion): number | null {
    const at = version - (this.#versions[0] as StateVersion).version;
    const found = this.#versions[at];
    return found !== undefined && found.point?.commit === point?.commit ? at : null;
  }
}

function stateName(tenant: Tenant, key: string): string {
  return `${tenant.length}:${tenant}${key}`;
}
